"""Which Python runs the models inside Triton."""

import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from demo.parts.errors import PartMissing

# Triton's wheel needs numpy older than 2, which has no build for Python 3.13.
SUPPORTED = ("3.11", "3.12")
ASK = "import platform, sysconfig; print(platform.python_version(), sysconfig.get_config_var('LIBDIR'))"


@dataclass(frozen=True)
class Interpreter:
    """One Python on this machine."""

    program: Path
    full_version: str
    library_folder: Path

    @property
    def version(self) -> str:
        """`3.11`."""
        return ".".join(self.full_version.split(".")[:2])

    @property
    def library(self) -> str:
        """The file name of its shared library."""
        return f"libpython{self.version}.so.1.0"

    @property
    def library_package(self) -> str:
        """The Debian package with that library."""
        return f"libpython{self.version}"


def choose_interpreter() -> Interpreter:
    """This Python when Triton supports it, else the newest other one on PATH that it does."""
    named = [shutil.which(f"python{version}") for version in reversed(SUPPORTED)]
    for program in [sys.executable, *filter(None, named)]:
        interpreter = _ask(Path(program))
        if interpreter is not None and interpreter.version in SUPPORTED:
            return interpreter
    raise PartMissing(
        f"triton: runs models on Python {' or '.join(SUPPORTED)}, this is {platform.python_version()}",
        hint="Install one of them (it is found on PATH), or use docker compose up.",
    )


def _ask(program: Path) -> Interpreter | None:
    said = subprocess.run([program, "-c", ASK], capture_output=True, text=True, check=False)
    if said.returncode:
        return None
    version, _, folder = said.stdout.strip().partition(" ")
    return Interpreter(program=program, full_version=version, library_folder=Path(folder))
