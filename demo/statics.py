"""The web server's static files, collected when they changed."""

import fcntl
import hashlib
import json
from collections.abc import Mapping
from importlib.metadata import version

from demo.home import REPOSITORY, Home
from demo.programs import run_once

PACKAGES = ("django", "django-htmx", "djangorestframework", "drf-spectacular-sidecar", "plotly", "whitenoise")


def collect_statics(home: Home, *, variables: Mapping[str, str]) -> None:
    """Run collectstatic unless nothing changed since it last did."""
    target = REPOSITORY / "staticfiles"
    target.mkdir(exist_ok=True)
    stamp = target / ".collected"
    with (target / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        wanted = _fingerprint()
        if (target / "staticfiles.json").exists() and stamp.exists() and stamp.read_text() == wanted:
            return
        ours = {**variables, "DJANGO_SETTINGS_MODULE": "demo.statics_settings"}
        run_once("collectstatic", ["manage.py", "collectstatic", "--noinput"], home=home, variables=ours)
        stamp.write_text(wanted)


def _fingerprint() -> str:
    """Of our own files and of the versions of the packages that bring some."""
    files = sorted(file for file in (REPOSITORY / "static").rglob("*") if file.is_file())
    seen = [[str(file), file.stat().st_mtime_ns, file.stat().st_size] for file in files]
    packages = [[name, version(name)] for name in PACKAGES]
    return hashlib.sha256(json.dumps([seen, packages]).encode()).hexdigest()
