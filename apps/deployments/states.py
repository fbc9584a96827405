"""How rollouts, runs and steps may move. Pure."""

from collections.abc import Mapping
from enum import StrEnum


class RolloutKind(StrEnum):
    """What a rollout does to a placement."""

    PROMOTE = "promote"
    ROLLBACK = "rollback"
    UNLOAD = "unload"
    RETIRE = "retire"
    RECONFIGURE = "reconfigure"
    HEAL = "heal"


class RolloutState(StrEnum):
    """Where a rollout is. `reverting` puts back the servers it has already changed.

    While it is `unapproved` or `paused` it begins nothing; what has begun is ended.
    """

    UNAPPROVED = "unapproved"
    QUEUED = "queued"
    RUNNING = "running"
    PAUSED = "paused"
    REVERTING = "reverting"
    SUCCEEDED = "succeeded"
    ROLLED_BACK = "rolled_back"
    FAILED = "failed"


class RunState(StrEnum):
    """Where one server's share of a rollout is."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


class RunDirection(StrEnum):
    """Whether a run brings the change, puts it back, or writes down what now serves."""

    FORWARD = "forward"
    REVERT = "revert"
    SETTLE = "settle"


class StepState(StrEnum):
    """Where one step of a run is."""

    RUNNING = "running"
    WAITING = "waiting"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


class TrialState(StrEnum):
    """Where one request that somebody makes by hand is."""

    QUEUED = "queued"
    RUNNING = "running"
    ANSWERED = "answered"
    FAILED = "failed"


R, U, T, Y = RolloutState, RunState, StepState, TrialState

ROLLOUT_MOVES: Mapping[str, frozenset[str]] = {
    R.UNAPPROVED: frozenset({R.QUEUED, R.REVERTING, R.FAILED}),
    R.QUEUED: frozenset({R.RUNNING, R.PAUSED, R.REVERTING, R.FAILED}),
    R.RUNNING: frozenset({R.SUCCEEDED, R.PAUSED, R.REVERTING, R.FAILED}),
    R.PAUSED: frozenset({R.RUNNING, R.REVERTING, R.FAILED}),
    R.REVERTING: frozenset({R.ROLLED_BACK, R.FAILED}),
    R.SUCCEEDED: frozenset(),
    R.ROLLED_BACK: frozenset(),
    R.FAILED: frozenset(),
}

RUN_MOVES: Mapping[str, frozenset[str]] = {
    U.QUEUED: frozenset({U.RUNNING, U.CANCELLED}),
    U.RUNNING: frozenset({U.SUCCEEDED, U.FAILED, U.CANCELLED}),
    U.SUCCEEDED: frozenset(),
    # Tried again, because somebody asked for it.
    U.FAILED: frozenset({U.QUEUED}),
    U.CANCELLED: frozenset(),
}

STEP_MOVES: Mapping[str, frozenset[str]] = {
    T.RUNNING: frozenset({T.WAITING, T.SUCCEEDED, T.FAILED}),
    T.WAITING: frozenset({T.RUNNING, T.WAITING, T.SUCCEEDED, T.FAILED}),
    T.SUCCEEDED: frozenset(),
    T.FAILED: frozenset(),
}

TRIAL_MOVES: Mapping[str, frozenset[str]] = {
    Y.QUEUED: frozenset({Y.RUNNING, Y.FAILED}),
    Y.RUNNING: frozenset({Y.ANSWERED, Y.FAILED}),
    Y.ANSWERED: frozenset(),
    Y.FAILED: frozenset(),
}

ACTIVE_ROLLOUT = (R.UNAPPROVED, R.QUEUED, R.RUNNING, R.PAUSED, R.REVERTING)
# What goes wave by wave, and is put back when a server or a gate fails; all else goes to every server at once.
IN_WAVES = (RolloutKind.PROMOTE, RolloutKind.RECONFIGURE)
# Those that go on by themselves; the others wait for somebody.
MOVING_ROLLOUT = (R.QUEUED, R.RUNNING, R.REVERTING)
# Those that may still pass a gate.
FORWARD_ROLLOUT = (R.UNAPPROVED, R.QUEUED, R.RUNNING, R.PAUSED)
# Those in which a run that was begun goes on.
GOING_ROLLOUT = (R.RUNNING, R.PAUSED)
ACTIVE_RUN = (U.QUEUED, U.RUNNING)
