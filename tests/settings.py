"""Settings under test: the same as in production, on what the fixtures start."""

import os
import secrets
import tempfile

os.environ.setdefault("CONCH_SECRET_KEY", secrets.token_urlsafe(50))
os.environ.setdefault("CONCH_HOME", tempfile.mkdtemp(prefix="conch-test-"))
os.environ.setdefault("CONCH_DATABASE_URL", f"sqlite:///{os.environ['CONCH_HOME']}/conch.sqlite3")

from controlplane.settings import *  # noqa: F403

STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
# Every test client would else walk all static files first.
WHITENOISE_AUTOREFRESH = True
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":  # noqa: F405
    # A file, not memory: only a file has the locks that threads meet in production.
    DATABASES["default"]["TEST"] = {"NAME": f"{os.environ['CONCH_HOME']}/test.sqlite3"}  # noqa: F405
