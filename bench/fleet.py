"""What a fleet costs by its size: observing it, its rows, a rollout over all of it, its page."""

import http.client
import json
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from typing import Any

from bench.figures import Figure, percentile
from bench.loads import log_length
from bench.model import write_quick_archive
from bench.rounds import cpu_s, rounds_s, shards
from bench.stack import Stack, prepare_database
from demo.home import Home
from demo.parts.ports import free_port, free_ports
from demo.parts.postgres import Postgres
from demo.parts.triton import TritonPorts
from demo.parts.valkey import Valkey
from demo.programs import Program, run_once, web, worker
from demo.rest import Conch
from demo.seed import ensure, wait_until
from demo.statics import collect_statics
from tests.doubles.fleet import SimulatedFleet, SimulatedTriton
from tests.factories.triton_models import python_model

SIZES = (10, 100, 1_000)
MODELS = 20
EVERY_S = 10
WATCH_S = 45
REST_WITHIN_S = 240
SETTLE_S = 5
PAGES = 40
ROLLOUT_WITHIN_S = 900
# Observing is measured with one worker; what moves a fleet of any size is two.
ROLLOUT_WORKERS = 2
ROLLED = "rolled"
OBSERVE_BAR_S, CORES_BAR, EXTRA_BAR_S, PAGE_BAR_MS, GROWTH_BAR = 10, 1, 60, 150, 1


@dataclass
class Ground:
    """One fleet, with everything of Conch that looks after it."""

    home: Home
    variables: dict[str, str]
    fleet: SimulatedFleet
    workers: tuple[Program, ...]
    port: int
    size: int

    @property
    def conch(self) -> Conch:
        """As a script in CI sees it."""
        token = self.home.secret_file("api_token").read_text().strip()
        return Conch(f"http://127.0.0.1:{self.port}", token=token)

    @property
    def worker_cpu_s(self) -> float:
        """CPU seconds the workers have used so far, all together."""
        return sum(cpu_s(one.running_child.pid) for one in self.workers)

    @property
    def shards(self) -> int:
        """How many shards of servers all workers have looked at so far."""
        return sum(shards(log.read_text(errors="replace")) for log in self.home.logs.glob("worker*.log"))

    @contextmanager
    def joined(self, more: int) -> Iterator["Ground"]:
        """The same with so many more workers beside, which have come to rest."""
        with ExitStack() as running:
            beside = tuple(worker(self.home, variables=self.variables, beside=n) for n in range(1, more + 1))
            for program in beside:
                running.callback(program.stop)
                program.start()
            time.sleep(SETTLE_S)
            yield replace(self, workers=(*self.workers, *beside))

    def look(self) -> dict[str, Any]:
        """Rows of every table, and a session."""
        out = self.home.state / "look.json"
        _inside(self.home, self.variables, f"from bench.fleet_rows import look; look({str(out)!r})")
        found: dict[str, Any] = json.loads(out.read_text())
        return found


def measure(stack: Stack) -> tuple[list[Figure], dict[str, Any]]:
    """What each size costs, how that grows from one to the next, and the samples behind it."""
    samples: dict[str, Any] = {}
    for size in SIZES:
        stack.say(f"fleet: {size:,} servers x {MODELS} models")
        with _standing(stack, size) as ground:
            seen, pages = _watch(ground), _page(ground)
            with ground.joined(ROLLOUT_WORKERS - 1) as both:
                samples[str(size)] = _with_own_cost({**seen, "page_ms": pages, **_roll_out(both)})
        stack.say(f"fleet: {_short(samples[str(size)])}")
    return _figures(samples), samples


@contextmanager
def _standing(stack: Stack, size: int) -> Iterator[Ground]:
    home = Home(state=stack.home.state / f"fleet-{size}", shared=stack.home.shared)
    home.make()
    with ExitStack() as running:
        database = Postgres(home.state / "postgres", port=free_port())
        broker = Valkey(home.state / "valkey", is_durable=True)
        fleet = SimulatedFleet(home.state)
        for part in (database, broker, fleet):
            part.start()
            running.callback(part.kill)
        own = {"CONCH_DATABASE_URL": database.url, "CONCH_BROKER_URL": broker.broker_url}
        variables = {**stack.variables_of(home), **own, "CONCH_OBSERVE_EVERY_S": str(EVERY_S)}
        collect_statics(home, variables=variables)
        prepare_database(home, variables)
        _fill(home, variables, fleet, size)
        port = home.port("web")
        observing = worker(home, variables=variables)
        for program in (observing, web(home, port=port, variables=variables)):
            running.callback(program.stop)
            program.start()
        yield Ground(home, variables, fleet, (observing,), port, size)


def _fill(home: Home, variables: dict[str, str], fleet: SimulatedFleet, size: int) -> None:
    repository = home.state / "models"
    names = [f"model-{number:02}" for number in range(MODELS - 1)]
    for name in names:
        python_model(repository, name, 1, config=True)
    servers = [
        SimulatedTriton(
            fleet, f"server-{n:04}", repository=repository, ports=TritonPorts(*free_ports(3)), load_models=None
        )
        for n in range(size)
    ]
    for start in range(0, size, 50):
        fleet.add(*servers[start : start + 50])
    plan = home.state / "plan.json"
    told = [{"name": s.name, "grpc": s.grpc, "http": s.http, "metrics": f"http://{s.metrics}/metrics"} for s in servers]
    plan.write_text(json.dumps({"repository": str(repository), "models": names, "servers": told}))
    _inside(home, variables, f"from bench.fleet_rows import fill; fill({str(plan)!r})")


def _inside(home: Home, variables: dict[str, str], command: str) -> None:
    run_once("rows", ["manage.py", "shell", "--no-imports", "-c", command], home=home, variables=variables)


def _watch(ground: Ground) -> dict[str, Any]:
    """Rounds of observing while nothing else is asked for."""
    log = ground.home.logs / "worker.log"
    _come_to_rest(ground)
    before, begin_s, spent_s = ground.look(), time.monotonic(), ground.worker_cpu_s
    simulated_s, from_byte, looked = ground.fleet.cpu_s(), log_length(log), ground.shards
    time.sleep(WATCH_S)
    watched_s, used_s = time.monotonic() - begin_s, ground.worker_cpu_s - spent_s
    after, text = ground.look(), log.read_bytes()[from_byte:].decode(errors="replace")
    grown = {name: rows - before["rows"][name] for name, rows in after["rows"].items()}
    return {
        "rounds_s": rounds_s(text),
        "cores": used_s / watched_s,
        "shard_cpu_s": used_s / max(1, ground.shards - looked),
        "simulated_cores": (ground.fleet.cpu_s() - simulated_s) / watched_s,
        "rows_grown": {name: rows for name, rows in grown.items() if rows},
        "rows": sum(after["rows"].values()),
    }


def _come_to_rest(ground: Ground) -> None:
    """Until two rounds have written nothing: the first look at each server is written down, however long that takes."""
    until = time.monotonic() + REST_WITHIN_S
    rows: dict[str, int] = {}
    while (now := ground.look()["rows"]) != rows:
        if time.monotonic() > until:
            raise RuntimeError(f"rows still come after {REST_WITHIN_S} s of observing: {now}")
        rows = now
        time.sleep(2 * EVERY_S)


def _page(ground: Ground) -> list[float]:
    """Milliseconds of the fleet page, one after another, from the first byte sent to the last received."""
    connection = http.client.HTTPConnection("127.0.0.1", ground.port, timeout=60)
    headers, took_ms = {"Cookie": f"sessionid={ground.look()['session']}"}, []
    for _ in range(PAGES + 3):
        begin_s = time.perf_counter()
        connection.request("GET", "/", headers=headers)
        answer = connection.getresponse()
        answer.read()
        took_ms.append(round((time.perf_counter() - begin_s) * 1000, 2))
        if answer.status != 200:
            raise RuntimeError(f"the fleet page: {answer.status}")
    connection.close()
    return took_ms[3:]


def _roll_out(ground: Ground) -> dict[str, Any]:
    """A model's first version over every server, all at once; a simulated load takes no time of its own."""
    conch = ground.conch
    ensure(conch, "models", ROLLED, {"owner": "bench"})
    conch.upload(f"models/{ROLLED}/versions", write_quick_archive(ground.home.state, ROLLED), {"number": "1"})
    wait_until(lambda: conch.get(f"models/{ROLLED}/versions/1"), {"ready"}, what="the version")
    spent_s, simulated_s = [cpu_s(one.running_child.pid) for one in ground.workers], ground.fleet.cpu_s()
    looked = ground.shards
    asked = conch.post("rollouts", {"environment": "prod", "model": ROLLED, "version": 1, "reason": "bench"})
    ended = _wait(conch, asked["id"])
    begun, done = (datetime.fromisoformat(ended[name]) for name in ("created_at", "finished_at"))
    each_s = [cpu_s(one.running_child.pid) - before_s for one, before_s in zip(ground.workers, spent_s, strict=True)]
    return {
        "rollout_workers": len(ground.workers),
        "rollout_s": (done - begun).total_seconds(),
        "rollout_worker_cpu_s": sum(each_s),
        "rollout_cpu_of_each_s": each_s,
        "rollout_shards": ground.shards - looked,
        "rollout_simulated_cpu_s": ground.fleet.cpu_s() - simulated_s,
    }


def _with_own_cost(sample: dict[str, Any]) -> dict[str, Any]:
    """With what the rollout cost by itself: observing went on meanwhile, and has a figure of its own."""
    observing_s = sample["shard_cpu_s"] * sample["rollout_shards"]
    return {**sample, "rollout_own_cpu_s": sample["rollout_worker_cpu_s"] - observing_s}


def _wait(conch: Conch, rollout: int) -> dict[str, Any]:
    """The rollout once it has ended; a large one takes longer than one request may."""
    until = time.monotonic() + ROLLOUT_WITHIN_S
    while time.monotonic() < until:
        told = conch.get(f"rollouts/{rollout}?wait=30")
        if told["finished_at"]:
            break
    if told["state"] != "succeeded":
        raise RuntimeError(f"the rollout is {told['state']}: {told['error']}")
    return told


def _short(sample: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in sample.items() if name not in ("page_ms", "rounds_s")}


def _figures(samples: dict[str, Any]) -> list[Figure]:
    figures = []
    for size in SIZES:
        of, name = samples[str(size)], f"fleet_{size}"
        figures += [
            Figure(f"{name}_observe_s", round(max(of["rounds_s"]), 2), "s", OBSERVE_BAR_S),
            Figure(f"{name}_cores", round(of["cores"], 3), "", CORES_BAR),
            Figure(f"{name}_rollout_extra_s", round(of["rollout_s"], 1), "s", EXTRA_BAR_S),
            Figure(f"{name}_rollout_workers", of["rollout_workers"], "", ROLLOUT_WORKERS),
            Figure(f"{name}_page_p95_ms", round(percentile(of["page_ms"], 0.95), 1), "ms", PAGE_BAR_MS),
            Figure(f"{name}_rows_grown", sum(of["rows_grown"].values()), "", 0),
        ]
    return figures + [figure for pair in pairwise(SIZES) for figure in _growth(samples, *pair)]


def _growth(samples: dict[str, Any], small: int, large: int) -> list[Figure]:
    """What a server costs in the large fleet over what it costs in the small one: 1 is linear."""

    def growth(cost: str) -> float:
        fewer, more = float(samples[str(small)][cost]) / small, float(samples[str(large)][cost]) / large
        return round(more / fewer, 2)

    name = f"fleet_{small}_to_{large}"
    return [
        Figure(f"{name}_observe_growth", growth("cores"), "", GROWTH_BAR),
        Figure(f"{name}_rollout_growth", growth("rollout_s"), "", GROWTH_BAR),
        Figure(f"{name}_rollout_cpu_growth", growth("rollout_own_cpu_s"), "", GROWTH_BAR),
    ]
