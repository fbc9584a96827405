"""Where a fault strikes: a fleet with version 1 live, clients that never stop asking, and the ways to do harm."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from django.conf import settings
from django.db import connection
from django.test import override_settings
from django.utils import timezone

from apps.common.actor import COMMAND
from apps.deployments import selectors, services
from apps.fleet import selectors as fleet
from demo.parts.ports import free_port
from demo.parts.postgres import Postgres
from demo.parts.process import Child
from demo.parts.valkey import Valkey
from tests.fixtures.processes import environment, start_worker
from tests.fixtures.traffic import Traffic
from tests.fixtures.world import World, step_once
from worker import clock, engine, judging
from worker.context import Context
from worker.outcomes import Outcome
from worker.steps import STEPS

T = TypeVar("T")
LOST_WORKER = Path(__file__).with_name("lost_worker.py")
# A version that takes this long to start: long enough to hit it in the middle.
SLOW = "time.sleep(1.5)"
QUICK = "time.sleep(0.4)"


def nap() -> None:
    """Between two looks."""
    time.sleep(0.05)


class Ground:
    """One row's stage. Workers and brokers are started when asked for, and end with the row."""

    def __init__(self, world: World, folder: Path, running: ExitStack, *, database: Postgres | None = None) -> None:
        self.world = world
        self.database = database
        self.folder = folder
        self.traffic: dict[str, Traffic] = {}
        # Other models that the row moves too, each with its rollout: they are held to the same.
        self.others: list[tuple[World, int]] = []
        self._running = running
        self._broker: Valkey | None = None
        self._workers = 0

    @property
    def triton(self) -> Any:
        """The first server."""
        return next(iter(self.world.tritons.values()))

    @property
    def broker(self) -> Valkey:
        """A Valkey of this row's own, which keeps its queue over a restart."""
        if self._broker is None:
            self._broker = Valkey(self.folder / "valkey", port=free_port(), is_durable=True)
            self._broker.start()
            self._running.callback(self._broker.stop)
        return self._broker

    def begin(self, *, initialize: str = QUICK, **upload: Any) -> int:
        """Upload the next version and ask for its promotion; the rollout has begun."""
        number = self.world.upload(initialize=initialize, **upload)
        name = self.world.environment
        rollout = services.promote(COMMAND, environment=name, model=self.world.model, version=number)
        services.advance_rollout(rollout.pk, now=timezone.now())
        return int(rollout.pk)

    def run_of(self, rollout_id: int, *, direction: str = "forward") -> int:
        """The rollout's first run in that direction."""
        return int(selectors.runs_of(selectors.get_rollout(rollout_id), direction=direction)[0].pk)

    def walk(self, rollout_id: int) -> int:
        """Do in this process what workers and the sweep do, to the end; the rollout's number again."""
        self.world.walk(rollout_id)
        return rollout_id

    def walk_until(self, rollout_id: int, is_so: Callable[[], Any]) -> None:
        """As walk(), until something is so; looked at after every single thing that is done."""

        def little() -> None:
            services.advance_rollout(rollout_id, now=timezone.now())
            for due in [] if is_so() else selectors.due_judgements(timezone.now()):
                judging.judge_rollout(due, now=timezone.now())
            for run_id in [] if is_so() else selectors.due_runs(timezone.now()):
                engine.advance_run(run_id)

        self.wait(is_so, rollout_id, meanwhile=little)

    def wait_ended(self, rollout_id: int) -> int:
        """Until real workers have brought it to its end; the rollout's number again."""
        self.wait(lambda: selectors.has_ended(selectors.state_of(rollout_id)), rollout_id)
        return rollout_id

    def wait_step(self, rollout_id: int, name: str) -> None:
        """Until some run has begun that step."""
        self.wait(lambda: self.has_begun(rollout_id, name), rollout_id)

    def has_begun(self, rollout_id: int, name: str) -> bool:
        """Whether some run of the rollout has begun that step."""
        runs = selectors.get_rollout(rollout_id).runs.all()
        return any(step.name == name for run in runs for step in run.steps.all())

    def wait(
        self, is_so: Callable[[], Any], rollout_id: int, *, timeout_s: float = 90, meanwhile: Callable[[], Any] = nap
    ) -> None:
        """Return once `is_so`; fail after the deadline with all the rollout says."""
        deadline = time.monotonic() + timeout_s
        while not is_so():
            assert time.monotonic() < deadline, self.world.told(rollout_id)
            meanwhile()

    def heal(self, rollout_id: int, *, model: World | None = None) -> int:
        """Do what the clock does, until every server has what is desired; the rollout's number again."""
        world = model or self.world
        ids = list(fleet.servers(environment=world.environment).values_list("pk", flat=True))

        def is_healed() -> bool:
            placement = selectors.get_placement(world.environment, world.model)
            desired, moving = selectors.desired_versions(placement), selectors.active_rollout(placement)
            return moving is None and all(world.ready(name) == desired for name in world.tritons)

        def pass_once() -> None:
            clock.observe_servers(ids, timezone.now())
            step_once()

        self.wait(is_healed, rollout_id, meanwhile=pass_once)
        return rollout_id

    def start_worker(self, *, queue: str = "conch", more: dict[str, str] | None = None) -> Child:
        """A real Celery worker with beat inside, on this row's broker."""
        self._workers += 1
        folder = self.folder / f"worker-{self._workers}"
        folder.mkdir()
        worker = start_worker(folder, broker_url=self.broker.broker_url, queue=queue, more=more)
        self._running.callback(worker.kill)
        return worker

    def lose_worker(self, run_id: int, step: str, moment: str) -> None:
        """A worker that is killed (-9) in that step of the run; its lease has run out when this returns."""
        words: list[str | Path] = [sys.executable, LOST_WORKER, str(run_id), step, moment]
        ended = subprocess.run(words, env=environment(), timeout=60, check=False)
        assert ended.returncode == -9
        self.wait(lambda: run_id in selectors.due_runs(timezone.now()), selectors.get_run(run_id).rollout_id)

    def lose_judge(self, rollout_id: int, moment: str) -> None:
        """A worker that is killed (-9) while it judges the rollout's gates."""

        def is_due() -> bool:
            is_moving = not selectors.has_ended(selectors.state_of(rollout_id))
            return not is_moving or rollout_id in selectors.due_judgements(timezone.now())

        self.walk_until(rollout_id, is_due)
        words: list[str | Path] = [sys.executable, LOST_WORKER, str(rollout_id), "judge", moment]
        more = {"CONCH_PROMETHEUS_URL": str(settings.CONCH["prometheus_url"])}
        ended = subprocess.run(words, env=environment(**more), timeout=60, check=False)
        assert ended.returncode == -9

    def ask_prometheus(self, url: str) -> None:
        """From here on gates ask this one."""
        changed = {**settings.CONCH, "prometheus_url": url, "scrape_interval_s": 1}
        self.keep_open(override_settings(CONCH=changed))

    def keep_open(self, something: AbstractContextManager[T]) -> T:
        """As long as the row lasts."""
        return self._running.enter_context(something)

    def run_alone(self, run_id: int, *, wrapped_in: Sequence[str | Path]) -> None:
        """Walk one run to its end in a process that is started in a certain way."""
        words: list[str | Path] = [*wrapped_in, sys.executable, LOST_WORKER, str(run_id), "none", "never"]
        subprocess.run(words, env=environment(), timeout=60, check=True)

    def restart_database(self, *, away_s: float) -> None:
        """PostgreSQL is ended (-9), away for a while, and back; the row must have its own."""
        assert self.database is not None
        self.database.kill()
        time.sleep(away_s)
        self.database.start()
        connection.close()

    @contextmanager
    def at_step(self, name: str, *, before: Callable[[], Any] = str, after: Callable[[], Any] = str) -> Iterator[None]:
        """Do something once when a run in this process comes to that step, or has just done its work."""
        whole, done = STEPS[name], {"before": before is str, "after": after is str}

        def struck(context: Context) -> Outcome:
            if not done["before"]:
                done["before"] = True
                before()
            outcome = whole(context)
            if not done["after"]:
                done["after"] = True
                after()
            return outcome

        STEPS[name] = struck
        try:
            yield
        finally:
            STEPS[name] = whole
        assert all(done.values()), f"{name} was never reached"


def as_ordinary_user(*words: str | Path) -> list[str | Path]:
    """A command in a user and a mount namespace of its own: no root needed to mount what only it sees."""
    return ["unshare", "--user", "--map-root-user", "--mount", *words]
