"""What else a Conch meets: a version by reference, of which preflight has something to say, and an overlay.

Begun and not waited for: the demo starts no later for them.
"""

import zipfile
from pathlib import Path
from typing import Any

from demo.rest import Conch
from demo.trained import Digits

NUMBER, MADE_FROM = 6, 2
CONFIG = "digits/config.pbtxt"
# A server passes it over, so preflight asks before such a version is promoted.
WARMS_NOTHING = 'model_warmup [ { name: "nothing yet" } ]\n'
TWO_INSTANCES: dict[str, Any] = {"instance_group": [{"kind": "KIND_CPU", "count": 2}]}


def add_version_by_reference(conch: Conch, *, model: str, digits: Digits) -> None:
    """Version 6, which a worker takes from a folder."""
    if not conch.has(f"models/{model}/versions/{NUMBER}"):
        wanted = {
            "from": str(repacked(digits)),
            "number": NUMBER,
            "notes": f"as {MADE_FROM}, with a warm-up of its own",
        }
        conch.post(f"models/{model}/versions", wanted)


def repacked(digits: Digits) -> Path:
    """Version 2's bytes under a configuration that warms up with nothing; its archive."""
    made = digits.archive(NUMBER)
    if not made.exists() or made.stat().st_mtime < digits.archive(MADE_FROM).stat().st_mtime:
        fresh = made.with_suffix(".part")
        with zipfile.ZipFile(digits.archive(MADE_FROM)) as before, zipfile.ZipFile(fresh, "w") as after:
            for name in before.namelist():
                after.writestr(name, before.read(name) + (WARMS_NOTHING.encode() if name == CONFIG else b""))
        fresh.rename(made)
    return made


def add_overlay(conch: Conch, *, model: str, environment: str) -> None:
    """Two instances in one environment, unless somebody has set anything there."""
    path = f"placements/{environment}/{model}/overlays"
    if not conch.get(path)["results"]:
        reason = "two requests at once, to see what a second instance costs"
        conch.post(path, {"document": TWO_INSTANCES, "reason": reason})
