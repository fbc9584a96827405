"""Walks runs: claims the lease, does idempotent steps one after another, records each, and ends once."""

import logging
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import IntegrityError, InterfaceError, OperationalError
from django.db import connection as database
from django.utils import timezone

from apps.common.errors import ControlPlaneError
from apps.deployments import services
from apps.deployments.errors import Aborted, StepBroke, StepKeptDying
from apps.deployments.selectors import Work, require_run, state_of, work, work_once_proven
from apps.deployments.states import RunState, StepState
from apps.fleet import connecting
from worker.context import FEW, Context
from worker.outcomes import Done, Outcome, Reroute, Wait
from worker.steps import STEPS

log = logging.getLogger(__name__)

# After this long a task gives the run back and asks to be called again: messages stay short.
BUDGET_S = 20.0
# Short waits are sat out, up to so much of a turn: giving the run back for them costs a message and several writes.
SHORT_S, SAT_OUT_S = 0.5, 2.0
MOST_LOST_WORKERS = 5
# Steps after which the work is another: what they prove goes into it.
PROVING = ("shadow",)
LONGEST_BACK_OFF_S = 10.0
# Where more servers are on their way than FEW, a rollout looks at those that end within this together.
TOGETHER_S = 0.5


def advance_run(run_id: int) -> None:
    """Move a run as far as it goes now; safe to deliver twice, or while another worker has it.

    Raises RunUnknown when there is no such run, which is not the same as a run that somebody else has.
    """
    owner, lease_s = uuid.uuid4().hex, float(settings.CONCH["lease_s"])
    if not services.claim_run(run_id, owner=owner, now=timezone.now(), lease_s=lease_s):
        require_run(run_id)
        return
    with _lease_kept(run_id, owner, lease_s) as lost:
        todo = work(run_id)
        pause = _walk(todo, lost, until=time.monotonic() + BUDGET_S)
    if pause is not None:
        due_at = timezone.now() + timedelta(seconds=pause.seconds)
        services.release_run(todo.run, owner=owner, due_at=due_at, waiting_for=pause.why, after_s=pause.seconds)


def _walk(todo: Work, lost: threading.Event, *, until: float) -> Wait | None:
    """Do steps until one waits, the run ends (None), the lease is lost (None) or the time is used."""
    sat_out_s = 0.0
    while not lost.is_set():
        if not services.is_wanted(todo.run):
            unwanted = Aborted("the rollout was aborted")
            services.end_run(todo.run, state=RunState.CANCELLED, now=timezone.now(), error=unwanted)
            return None
        name = _next_step(todo)
        if name is None:
            after_s = 0 if todo.at_once <= FEW else TOGETHER_S
            services.end_run(todo.run, state=RunState.SUCCEEDED, now=timezone.now(), after_s=after_s)
            return None
        pause = _do(todo, name, lost)
        if pause is not None and pause.seconds <= SHORT_S and sat_out_s + pause.seconds <= SAT_OUT_S:
            sat_out_s += pause.seconds
            lost.wait(pause.seconds)
        elif pause is not None or todo.run.state != RunState.RUNNING:
            return pause
        if time.monotonic() > until:
            return Wait(0, "the next turn")
        todo = _look_again(todo, name)
    return None


def _next_step(todo: Work) -> str | None:
    done = {name for name, step in todo.steps.items() if step.state == StepState.SUCCEEDED}
    return next((name for name in todo.run.recipe if name not in done), None)


def _look_again(todo: Work, name: str) -> Work:
    """The same work as it stands now: others change the rollout only, and what a try has proven changes the rest."""
    if name in PROVING:
        return work_once_proven(todo)
    todo.rollout.state = state_of(todo.rollout.pk)
    return todo


def _do(todo: Work, name: str, lost: threading.Event) -> Wait | None:
    """Call one step once and record what it said."""
    try:
        step = services.begin_step(todo.run, name, known=todo.steps.get(name), now=timezone.now())
    except IntegrityError:
        lost.set()
        return None
    todo.steps[name] = step
    try:
        outcome = _call(todo, name, step)
    except ControlPlaneError as error:
        return None if lost.is_set() else _failed(todo, step, error)
    except (OperationalError, InterfaceError):
        # The database, not the step: once the lease is over the sweep has the step called again, a few times at most.
        raise
    except Exception:
        log.exception("%s: step %s on %s broke", todo.run, name, todo.server.name)
        if lost.is_set():
            return None
        broke = StepBroke(f"{todo.server.name}: {name} broke; see the worker's log")
        services.end_run(todo.run, state=RunState.FAILED, now=timezone.now(), error=broke)
        return None
    return None if lost.is_set() else _record(todo, step, outcome)


def _call(todo: Work, name: str, step: Any) -> Outcome:
    """A step whose worker is lost every time must end some day."""
    if step.lost_workers > MOST_LOST_WORKERS:
        raise StepKeptDying(f"{todo.server.name}: {name} lost its worker {step.lost_workers} times")
    return STEPS[name](Context(todo, connecting.connect(todo.server), step, timezone.now()))


def _record(todo: Work, step: Any, outcome: Outcome) -> Wait | None:
    if isinstance(outcome, Done):
        services.pass_step(step, detail=outcome.detail, now=timezone.now())
        return None
    if isinstance(outcome, Reroute):
        services.reroute(todo.run, outcome.recipe, why=outcome.why)
        _forget_begun(todo)
        return None
    services.wait_in_step(step, is_failure=False, why=outcome.why)
    return outcome


def _forget_begun(todo: Work) -> None:
    """Another recipe is walked: of the steps so far only those that are done stay."""
    for name in [name for name, step in todo.steps.items() if step.state != StepState.SUCCEEDED]:
        del todo.steps[name]


def _failed(todo: Work, step: Any, error: ControlPlaneError) -> Wait | None:
    """The error's class says whether to try again; the progress deadline says for how long."""
    now = timezone.now()
    in_time = (now - step.started_at).total_seconds() < todo.progress_deadline_s
    if error.retryable and in_time:
        services.wait_in_step(step, is_failure=True, why=error.message)
        return Wait(min(2.0 ** min(step.failures, 5) / 2, LONGEST_BACK_OFF_S), error.message)
    services.end_run(todo.run, state=RunState.FAILED, now=now, error=error)
    return None


def _renew(run_id: int, owner: str, lease_s: float) -> bool | None:
    """Whether the lease is still held; None when the database did not say."""
    try:
        return services.renew_lease(run_id, owner=owner, now=timezone.now(), lease_s=lease_s)
    except (OperationalError, InterfaceError) as error:
        log.warning("run %s: its lease could not be renewed: %s", run_id, error)
        return None
    finally:
        database.close()


@contextmanager
def _lease_kept(run_id: int, owner: str, lease_s: float) -> Iterator[threading.Event]:
    """Renew the lease from a thread while the block runs; the event tells that it was lost."""
    lost, stop = threading.Event(), threading.Event()

    def renew() -> None:
        until = time.monotonic() + lease_s
        while not stop.wait(lease_s / 3):
            began = time.monotonic()
            is_held = _renew(run_id, owner, lease_s)
            if is_held:
                until = began + lease_s
            elif is_held is not None or time.monotonic() >= until:
                lost.set()
                return

    keeper = threading.Thread(target=renew, name=f"lease-{run_id}", daemon=True)
    keeper.start()
    try:
        yield lost
    finally:
        stop.set()
        keeper.join()
