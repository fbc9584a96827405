"""The real thing, started anew for a run and gone after it: what `make demo` starts, with the measured model."""

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.model import write_archive
from demo.home import REPOSITORY, Home
from demo.parts.part import Part
from demo.parts.prometheus import Prometheus
from demo.parts.triton import ControlMode, Triton
from demo.parts.triton_environment import TritonEnvironment, prepare_triton
from demo.parts.valkey import Valkey
from demo.programs import run_once, settings, web, worker
from demo.rest import Conch
from demo.seed import ensure, wait_until
from demo.statics import collect_statics
from demo.supervisor import stop_all

ENVIRONMENT = "prod"
SERVERS = ("prod-1", "prod-2")


class Stack:
    """Valkey, two Tritons over one repository, worker with beat, web server; `conch` speaks to it over REST."""

    def __init__(self, *, say: Callable[[str], None]) -> None:
        self.say = say
        self.home = Home(state=Path(tempfile.mkdtemp(prefix="conch-bench-")), shared=REPOSITORY / ".conch")
        self.home.make()
        self._parts: list[Part] = []
        self._environment: TritonEnvironment | None = None
        self.tritons: list[Triton] = []
        self.port = self.home.port("web")
        self.valkey = Valkey(self.home.state / "valkey", is_durable=True)
        self.variables = self.variables_of(self.home)

    def __enter__(self) -> "Stack":
        """Start and fill it; returns when two servers are active."""
        self.say("starting the stack")
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Stop everything and remove its state."""
        stop_all(self._parts)
        shutil.rmtree(self.home.state, ignore_errors=True)

    def variables_of(self, home: Home) -> dict[str, str]:
        """What Conch's processes over that home read. No Prometheus runs: no figure asks it."""
        unused = Prometheus(home.state / "prometheus", port=home.port("prometheus"), packages=home.packages)
        return settings(home, valkey=self.valkey, prometheus=unused)

    @property
    def conch(self) -> Conch:
        """Conch as a script in CI sees it."""
        token = self.home.secret_file("api_token").read_text().strip()
        return Conch(f"http://127.0.0.1:{self.port}", token=token)

    @property
    def pids(self) -> dict[str, int]:
        """The processes of Conch by name."""
        return {"web": self._web.running_child.pid, "worker": self._worker.running_child.pid}

    @property
    def triton_release(self) -> str:
        """As the first server told Conch."""
        found = self.conch.get(f"servers/{SERVERS[0]}")
        return str((found["observation"] or {}).get("server_version") or "unknown")

    @contextmanager
    def more_tritons(self, name: str, *, control_mode: ControlMode) -> Iterator[list[Triton]]:
        """Two more servers over one repository that Conch knows nothing of, not started; stopped in the end."""
        servers = [self._triton(f"{name}-{n}", repository=name, control_mode=control_mode) for n in (1, 2)]
        servers[0].repository.mkdir(parents=True)
        try:
            yield servers
        finally:
            stop_all(servers)

    def start_compiled(self, servers: Sequence[Triton]) -> None:
        """Start them side by side once every model they read has been compiled.

        Else each server would write `__pycache__` into the versions it loads, and in poll mode take that for a
        change and load them again: the ways beside Conch are measured at their best.
        """
        assert self._environment is not None
        root = servers[0].repository.parent
        sources = sorted(file for file in root.rglob("model.py") if root / ENVIRONMENT not in file.parents)
        subprocess.run([self._environment.python, "-m", "py_compile", *sources], check=True)
        for server in servers:
            server.launch()
        for server in servers:
            server.wait_ready()

    def add_model(self, model: str, *, versions: int) -> None:
        """A model with that many equal versions, all checked and ready."""
        conch = self.conch
        ensure(conch, "models", model, {"owner": "bench"})
        archive = write_archive(self.home.state, model)
        for number in range(1, versions + 1):
            conch.upload(f"models/{model}/versions", archive, {"number": str(number)})
        for number in range(1, versions + 1):
            path = f"models/{model}/versions/{number}"
            wait_until(lambda path=path: conch.get(path), {"ready"}, what=path)  # type: ignore[misc]

    def set_policy(self, **policy: Any) -> None:
        """How promotions go from here on; what is not named stays."""
        path = f"environments/{ENVIRONMENT}/policy"
        now = self.conch.get(path)
        wanted = {"policy": {**now["policy"], **policy}, "based_on": now["number"], "reason": "bench"}
        self.conch.put(path, wanted)

    def promote(self, model: str, version: int) -> dict[str, Any]:
        """Promote and wait for the end, whatever a rollback holds; the ended rollout."""
        wanted = {"environment": ENVIRONMENT, "model": model, "version": version, "reason": "bench"}
        wanted |= {"confirm": ["hold"]}
        return self.wait(self.conch.post("rollouts", wanted))

    def roll_back(self, model: str, *, to: int | None = None) -> dict[str, Any]:
        """Ask for a rollback; the rollout as it began."""
        wanted = {"environment": ENVIRONMENT, "model": model, "reason": "bench", "ban": False}
        return self.conch.post("rollbacks", wanted | ({"to": to} if to else {}))

    def runs(self, rollout: dict[str, Any]) -> list[dict[str, Any]]:
        """What it did on each server, with its steps: there are two."""
        found: list[dict[str, Any]] = self.conch.get(f"rollouts/{rollout['id']}/runs")["results"]
        return found

    def wait(self, rollout: dict[str, Any]) -> dict[str, Any]:
        """The rollout once it has succeeded."""
        path = f"rollouts/{rollout['id']}?wait=30"
        return wait_until(lambda: self.conch.get(path), {"succeeded"}, what=f"rollout {rollout['id']}")

    def wait_hot(self, model: str, version: int) -> None:
        """Until Conch says that going back to `version` is instant."""
        path = f"placements/{ENVIRONMENT}/{model}"

        def look() -> dict[str, Any]:
            targets = self.conch.get(path)["rollback_targets"]
            is_hot = bool(targets) and targets[0]["version"] == version and targets[0]["is_hot"]
            return {"state": "hot" if is_hot else "cold", "targets": targets}

        wait_until(look, {"hot"}, what=f"{model} {version}")

    def _start(self) -> None:
        self._environment = prepare_triton(self.home.shared)
        self.tritons = [self._triton(name, repository=ENVIRONMENT) for name in SERVERS]
        for triton in self.tritons:
            self._launch(triton)
        self._launch(self.valkey)
        self.valkey.wait_ready()
        collect_statics(self.home, variables=self.variables)
        prepare_database(self.home, self.variables)
        self._web = web(self.home, port=self.port, variables=self.variables)
        self._worker = worker(self.home, variables=self.variables)
        self._launch(self._web)
        self._launch(self._worker)
        for part in self._parts:
            part.wait_ready(timeout_s=90)
        self._register(self.conch)

    def _register(self, conch: Conch) -> None:
        ensure(conch, "environments", ENVIRONMENT, {"rank": 10})
        place = {"environment": ENVIRONMENT, "kind": "posix", "path": str(self.tritons[0].repository)}
        conch.post("repositories", {"name": ENVIRONMENT, **place})
        for triton in self.tritons:
            addresses = {"grpc": triton.grpc, "http": triton.http, "metrics": triton.metrics}
            conch.post(
                "servers", {"name": triton.name, "environment": ENVIRONMENT, "repository": ENVIRONMENT, **addresses}
            )
        for name in SERVERS:
            wait_until(lambda name=name: conch.get(f"servers/{name}"), {"active"}, what=name)  # type: ignore[misc]

    def _triton(self, name: str, *, repository: str, control_mode: ControlMode = "explicit") -> Triton:
        assert self._environment is not None
        return Triton(
            self.home.state / "tritons" / name,
            environment=self._environment,
            repository=self.home.state / "repositories" / repository,
            control_mode=control_mode,
            name=name,
        )

    def _launch(self, part: Part) -> None:
        self._parts.append(part)
        part.launch()


def prepare_database(home: Home, variables: dict[str, str]) -> None:
    """Tables, the admin and the tokens."""
    files = [home.secret_file(name) for name in ("password", "api_token", "sd_token")]
    run_once("database", ["-m", "demo.database", "admin", *files], home=home, variables=variables)
