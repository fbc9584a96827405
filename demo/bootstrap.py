"""Make `.venv` and fill it with what uv.lock says; quick when nothing changed.

Run by any Python 3.11 or newer, with nothing but the standard library:
`python3 demo/bootstrap.py` for the stack, `--dev` for everything the tests need too.
"""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
VENV = REPOSITORY / ".venv"
UV_VERSION = "0.13.9"
FOR_STACK = ["--inexact", "--no-dev", "--group", "embedded"]


def main() -> int:
    """0 when the environment is as the lock says."""
    if sys.version_info < (3, 11):  # noqa: UP036 - the Makefile takes whatever python3 is
        found = ".".join(map(str, sys.version_info[:3]))
        print(f"Conch needs Python 3.11 or newer; {sys.executable} is {found}.", file=sys.stderr)
        print("Install one and name it: make demo PYTHON=python3.12", file=sys.stderr)
        return 1
    VENV.mkdir(exist_ok=True)
    with (VENV / ".bootstrap.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not has_uv() and not install_uv():
            return 1
        groups = [] if "--dev" in sys.argv else FOR_STACK
        return run([VENV / "bin" / "uv", "sync", "--frozen", *quietly(), *groups])


def quietly() -> list[str]:
    """Uv's own progress the first time, silence afterwards."""
    return ["--quiet"] if (VENV / "bin" / "gunicorn").exists() else []


def has_uv() -> bool:
    """True when the pinned uv is in the environment and runs."""
    uv = VENV / "bin" / "uv"
    if not uv.exists():
        return False
    said = subprocess.run([uv, "--version"], capture_output=True, text=True, check=False).stdout
    return said.split()[1:2] == [UV_VERSION]


def install_uv() -> bool:
    """Make the environment with this Python and put uv into it."""
    print(f"Making {VENV} ...", flush=True)
    wanted = ["install", "--quiet", "--disable-pip-version-check", f"uv=={UV_VERSION}"]
    python = VENV / "bin" / "python"
    if subprocess.run([sys.executable, "-c", "import ensurepip"], capture_output=True, check=False).returncode == 0:
        return run([sys.executable, "-m", "venv", VENV]) == 0 and run([python, "-m", "pip", *wanted]) == 0
    return run([sys.executable, "-m", "venv", "--without-pip", VENV]) == 0 and run([python, debian_pip(), *wanted]) == 0


def debian_pip() -> str:
    """Pip from Debian's package, for a Python without ensurepip (python3-venv is not installed)."""
    sys.path.insert(0, str(REPOSITORY))
    from demo.parts.errors import PartError  # noqa: PLC0415 - only here, and only after the version check
    from demo.parts.packages import unpack_package  # noqa: PLC0415

    try:
        package = unpack_package("python3-pip-whl", into=VENV / "packages")
    except PartError as error:
        sys.exit(f"This Python has no venv: {error}\n  Or: sudo apt-get install python3-venv")
    return f"{next(package.glob('usr/share/python-wheels/pip-*.whl'))}/pip"


def run(command: list[str | Path]) -> int:
    """The exit code; what the command says is shown."""
    dropped = {"VIRTUAL_ENV", "UV_PROJECT_ENVIRONMENT", "PYTHONPATH", "PYTHONHOME"}
    variables = {key: value for key, value in os.environ.items() if key not in dropped}
    variables["UV_PYTHON_DOWNLOADS"] = "never"
    return subprocess.run(command, cwd=REPOSITORY, env=variables, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
