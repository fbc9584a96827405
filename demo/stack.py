"""The whole stack in one process tree: what `make demo` and `make run` start."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

from demo.fleet import FleetServer, make_fleet
from demo.hints import hints
from demo.home import REPOSITORY, Home, write_privately
from demo.parts.part import Part
from demo.parts.prometheus import HttpDiscovery, Prometheus, find_program
from demo.parts.triton_environment import prepare_triton
from demo.parts.valkey import Valkey
from demo.programs import Program, run_once, settings, web, worker
from demo.rest import Conch
from demo.seed import MODEL, seed
from demo.statics import collect_statics
from demo.supervisor import Supervisor, stop_all
from demo.trained import Digits, prepare_digits

USUAL_PORT = 8400
USERNAME = "admin"
REQUESTS_PER_CLIENT_S = 12


class Stack:
    """Everything the embedded stack consists of; `is_bare` leaves out Tritons, model and traffic."""

    def __init__(self, home: Home, *, is_bare: bool, say: Callable[[str], None]) -> None:
        home.make()
        home.take()
        self.home = home
        self.is_bare = is_bare
        self._say = say
        self.description = home.state / ("run.json" if is_bare else "demo.json")
        self.description.unlink(missing_ok=True)
        self.port = self._choose_port()
        self.valkey = Valkey(home.state / "valkey", is_durable=True)
        self.prometheus = Prometheus(
            home.state / "prometheus",
            port=home.port("prometheus"),
            packages=home.packages,
            discovery=HttpDiscovery(url=f"{self.url}/api/v1/sd/prometheus", token_file=home.secret_file("sd_token")),
            conch=f"127.0.0.1:{self.port}",
            rules=[REPOSITORY / "compose" / "prometheus" / "rules.yml"],
        )
        self._variables = settings(home, valkey=self.valkey, prometheus=self.prometheus)
        self._fleet: list[FleetServer] = []
        self._started: list[Part] = []
        self._supervisor: Supervisor | None = None
        self._digits: Digits | None = None

    @property
    def url(self) -> str:
        """Where the console is."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Fetch what is missing, start everything, fill it; returns when all of it answers."""
        self._prepare()
        self._start_conch()
        if self._digits is not None:
            self._start_traffic(self._digits)
        self._supervisor = Supervisor(self._started, say=self._say)
        self._supervisor.start()
        if self._digits is not None:
            seed(self._conch(), fleet=self._fleet, digits=self._digits, say=self._say)
        write_privately(self.description, json.dumps(self.describe(), indent=2))

    def stop(self) -> None:
        """Stop everything that was started."""
        self.description.unlink(missing_ok=True)
        if self._supervisor is not None:
            self._supervisor.stop()
        else:
            stop_all(self._started)

    def hints(self) -> str:
        """What to try next, by what is live and banned now."""
        return hints(self._conch())

    def describe(self) -> dict[str, object]:
        """What scripts need to know."""
        return {
            "url": self.url,
            "username": USERNAME,
            "password": self.home.secret_file("password").read_text().strip(),
            "api_token": self.home.secret_file("api_token").read_text().strip(),
            "servers": [
                {"name": server.name, "environment": server.environment, **server.addresses()} for server in self._fleet
            ],
            "prometheus": self.prometheus.url,
        }

    def _conch(self) -> Conch:
        return Conch(self.url, token=self.home.secret_file("api_token").read_text().strip())

    def _choose_port(self) -> int:
        wanted = int(os.environ.get("PORT") or USUAL_PORT)
        given = self.home.port("web", preferred=wanted)
        if given != wanted:
            self._say(f"port {wanted} is taken; using {given}")
        return given

    def _prepare(self) -> None:
        """Everything slow; a second start finds it done. The Tritons start meanwhile."""
        if not self.is_bare:
            self._prepare_model()
        find_program("prometheus", packages=self.home.packages)
        collect_statics(self.home, variables=self._variables)

    def _prepare_model(self) -> None:
        if not (self.home.shared / "triton-env" / "built").exists() and "CONCH_TRITON_ENV" not in os.environ:
            self._say("installing Triton (once, about a minute)")
        environment = prepare_triton(self.home.shared)
        self._fleet = make_fleet(self.home, environment)
        for server in self._fleet:
            self._launch(server.triton)
        if not (self.home.state / "digits" / "trained").exists():
            self._say("training the model 'digits' (once)")
        self._digits = prepare_digits(self.home.state, environment)

    def _start_conch(self) -> None:
        self._say("starting")
        self._launch(self.valkey)
        self.valkey.wait_ready()
        secrets = [self.home.secret_file(name) for name in ("password", "api_token", "sd_token")]
        words: list[str | Path] = ["-m", "demo.database", USERNAME, *secrets]
        run_once("database", words, home=self.home, variables=self._variables)
        self._launch(self.prometheus)
        self._launch(web(self.home, port=self.port, variables=self._variables))
        self._launch(worker(self.home, variables=self._variables))
        for part in self._started:
            part.wait_ready(timeout_s=60)

    def _start_traffic(self, digits: Digits) -> None:
        plan = {
            "model": MODEL,
            "held_out": str(digits.held_out),
            "rate": REQUESTS_PER_CLIENT_S,
            "servers": [{"name": server.name, **server.addresses()} for server in self._fleet],
        }
        file = self.home.state / "traffic.json"
        file.write_text(json.dumps(plan))
        log = self.home.logs / "traffic.log"
        words: list[str | Path] = ["-m", "demo.traffic", file]
        self._launch(Program("traffic", words, log=log, variables=self._variables, stop_timeout_s=2))

    def _launch(self, part: Part) -> None:
        self._started.append(part)
        part.launch()


def wait_for_ever() -> None:
    """Until a signal raises KeyboardInterrupt."""
    while True:
        time.sleep(3600)
