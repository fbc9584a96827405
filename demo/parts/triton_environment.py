"""A Python environment with a whole Triton in it, made once and shared."""

import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from demo.parts.errors import PartMissing
from demo.parts.interpreter import Interpreter, choose_interpreter
from demo.parts.packages import unpack_package
from demo.parts.process import Child

PROJECT = Path(__file__).resolve().parents[1] / "triton"
OLDEST_GLIBC = (2, 35)
BUILD_TIMEOUT_S = 900


@dataclass(frozen=True)
class TritonEnvironment:
    """Where the pieces of an installed Triton are."""

    root: Path

    @property
    def python(self) -> Path:
        """The environment's interpreter: what model.py runs in."""
        return self.root / "venv" / "bin" / "python"

    @property
    def backends(self) -> Path:
        """For --backend-directory."""
        return self.root / "backends"

    @property
    def stub(self) -> Path:
        """The process in which the python backend runs a model."""
        return self.backends / "python" / "triton_python_backend_stub"

    @property
    def site_packages(self) -> Path:
        """Where the wheels are."""
        return next((self.root / "venv" / "lib").glob("python3.*/site-packages"))

    @property
    def server(self) -> Path:
        """The tritonserver program."""
        return self.site_packages / "pytriton" / "tritonserver" / "bin" / "tritonserver"

    def variables(self) -> dict[str, str]:
        """The process environment a server needs: its Python first, its libraries found."""
        inherited = {key: os.environ[key] for key in ("HOME", "LANG", "TMPDIR") if key in os.environ}
        libraries = [self.site_packages / "nvidia_pytriton.libs", self.root / "lib"]
        return {
            **inherited,
            "PATH": f"{self.python.parent}:{os.environ.get('PATH', os.defpath)}",
            "LD_LIBRARY_PATH": ":".join(map(str, libraries)),
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        }


def prepare_triton(home: Path) -> TritonEnvironment:
    """The environment in `<home>/triton-env`, or where CONCH_TRITON_ENV says; built if needed.

    Several processes may ask at once: one builds, the others wait.
    """
    _check_platform()
    root = Path(os.environ.get("CONCH_TRITON_ENV") or home / "triton-env").resolve()
    root.mkdir(parents=True, exist_ok=True)
    environment = TritonEnvironment(root=root)
    interpreter = choose_interpreter()
    stamp, wanted = root / "built", _fingerprint(interpreter)
    with (root / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not stamp.exists() or stamp.read_text() != wanted:
            stamp.unlink(missing_ok=True)
            _install(environment, interpreter)
            _lay_out_backends(environment, interpreter)
            _find_library(environment, interpreter)
            stamp.write_text(wanted)
    return environment


def _check_platform() -> None:
    hint = "On other platforms: docker compose up."
    if sys.platform != "linux" or platform.machine() != "x86_64":
        found = f"{sys.platform} {platform.machine()}"
        raise PartMissing(f"triton: runs on Linux x86-64 only, this is {found}", hint=hint)
    kind, version = platform.libc_ver()
    if kind != "glibc" or tuple(map(int, version.split(".")[:2])) < OLDEST_GLIBC:
        found = f"{kind or 'another libc'} {version}"
        raise PartMissing(f"triton: needs glibc 2.35 or newer, this is {found}", hint=hint)


def _fingerprint(interpreter: Interpreter) -> str:
    lock = (PROJECT / "uv.lock").read_bytes()
    return f"{hashlib.sha256(lock).hexdigest()} python {interpreter.full_version}"


def _install(environment: TritonEnvironment, interpreter: Interpreter) -> None:
    uv = shutil.which("uv", path=f"{Path(sys.prefix) / 'bin'}:{os.environ.get('PATH', '')}")
    if uv is None:
        raise PartMissing("triton: no uv to install it with", hint="Run `make setup`.")
    variables = {key: value for key, value in os.environ.items() if key != "VIRTUAL_ENV"}
    variables["UV_PROJECT_ENVIRONMENT"] = str(environment.root / "venv")
    command: list[str | Path] = [uv, "sync", "--frozen", "--project", PROJECT, "--python", interpreter.program]
    installation = Child("triton's installation", command, log=environment.root / "install.log", env=variables)
    installation.start()
    installation.finish(timeout_s=BUILD_TIMEOUT_S)


def _lay_out_backends(environment: TritonEnvironment, interpreter: Interpreter) -> None:
    """The python backend with the stub of this Python beside its library."""
    shipped = environment.site_packages / "pytriton" / "tritonserver"
    shutil.rmtree(environment.backends, ignore_errors=True)
    shutil.copytree(shipped / "backends", environment.backends)
    stubs = shipped / "python_backend_stubs"
    shutil.copy2(stubs / interpreter.version / environment.stub.name, environment.stub)
    environment.stub.chmod(0o755)


def _find_library(environment: TritonEnvironment, interpreter: Interpreter) -> None:
    """Leave the stub's libpython where the loader finds it; fetch it when it is nowhere."""
    ours = environment.root / "lib"
    shutil.rmtree(ours, ignore_errors=True)
    ours.mkdir()
    if not _is_missing(interpreter.library, environment):
        return
    found = interpreter.library_folder / interpreter.library
    if not found.exists():
        package = unpack_package(interpreter.library_package, into=environment.root / "packages")
        found = next(package.glob(f"usr/lib/**/{interpreter.library}"))
    (ours / interpreter.library).symlink_to(found)
    if _is_missing(interpreter.library, environment):
        raise PartMissing(
            f"triton: {found} does not load",
            hint=f"Install it: sudo apt-get install {interpreter.library_package}",
        )


def _is_missing(library: str, environment: TritonEnvironment) -> bool:
    listing = subprocess.run(
        ["ldd", str(environment.stub)],
        env=environment.variables(),
        capture_output=True,
        text=True,
        check=False,
    )
    return f"{library} => not found" in listing.stdout
