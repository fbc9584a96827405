"""When a difference is mended, and why not when it is not. Pure: same cases, same decisions."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from apps.deployments.drift import HEALABLE, DriftKind

FIRST_PAUSE_S, LONGEST_PAUSE_S = 10, 600
# Loads of one server at the same time: each holds memory and processor while its model serves on elsewhere.
MOST_PER_SERVER = 4

RESTART = "only a restart of this server ends it; its other models serve meanwhile, and then it heals by itself"
ONLY_TOLD = "Conch did not load it and does not unload it: it only tells"
IN_THE_WAY = "a version that nobody asked for is loaded beside it, and loading would drop that: unload it first"
ABOVE = "a version that Conch did not place answers instead of the active one, which serves too: unload or promote it"
NO_ANSWER = "nothing can be done until the server answers"
SWITCHED_OFF = "self-healing is off in this environment: use Reconcile now"
ITS_TURN = "other models of this server are being loaded first"
UNDER_WAY = "it is loading"
MEMBERS_FIRST = "its members come first"


@dataclass(frozen=True, slots=True)
class Case:
    """One model that differs on one server.

    `refusal` is who says no (a rollout, a hold, a cordon), in words. `attempts` are the heals of late, the last of
    which ended at `last_at`. `members` are the models that must be right before this one can be.
    """

    server_id: int
    placement_id: int
    model: str
    kinds: frozenset[str]
    serves_active: bool
    refusal: str = ""
    heals_itself: bool = True
    is_asked: bool = False
    attempts: int = 0
    last_at: datetime | None = None
    members: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Decision:
    """What comes of a case: `why_not` is empty when it is healed now; `next_at` is when it may be tried again."""

    case: Case
    why_not: str = ""
    next_at: datetime | None = None


def decide(
    cases: Sequence[Case],
    *,
    under_way: Mapping[int, int],
    unsettled: Collection[tuple[int, str]] = (),
    now: datetime,
) -> list[Decision]:
    """Each case with its decision, in order. `under_way` counts the heals that each server has already.

    `unsettled` are models, by server, that are being healed or were not seen since: they may not be right yet.
    """
    ill = {(case.server_id, case.model) for case in cases if case.kinds & HEALABLE} | set(unsettled)
    taken = Counter(dict(under_way))
    decisions = []
    for case in sorted(cases, key=lambda one: (one.server_id, one.model)):
        decision = _decide(case, ill=ill, now=now)
        if not decision.why_not:
            if taken[case.server_id] >= MOST_PER_SERVER:
                decision = Decision(case, ITS_TURN)
            else:
                taken[case.server_id] += 1
        decisions.append(decision)
    return decisions


def _decide(case: Case, *, ill: Collection[tuple[int, str]], now: datetime) -> Decision:
    why_not = _hopeless(case.kinds) or case.refusal or _dropping(case)
    if why_not:
        return Decision(case, why_not)
    if not case.heals_itself and not case.is_asked:
        return Decision(case, SWITCHED_OFF)
    missing = sorted(member for member in case.members if (case.server_id, member) in ill)
    if missing:
        return Decision(case, f"{MEMBERS_FIRST}: {', '.join(missing)}")
    again_at = next_try_at(attempts=case.attempts, last_at=case.last_at)
    if again_at is not None and again_at > now and not case.is_asked:
        return Decision(case, f"it was tried {case.attempts} times of late", again_at)
    return Decision(case)


def _hopeless(kinds: frozenset[str]) -> str:
    """Why loading cannot help, empty when it may."""
    if DriftKind.UNREACHABLE in kinds:
        return NO_ANSWER
    if DriftKind.STUCK in kinds:
        return RESTART
    if kinds & HEALABLE:
        return ""
    return UNDER_WAY if DriftKind.LOADING in kinds else ONLY_TOLD


def _dropping(case: Case) -> str:
    """What Conch did not load and would drop, while the active version serves: somebody may want it."""
    if not case.serves_active:
        return ""
    if DriftKind.EXTRA in case.kinds:
        return IN_THE_WAY
    return ABOVE if DriftKind.WRONG_SET in case.kinds else ""


def next_try_at(*, attempts: int, last_at: datetime | None) -> datetime | None:
    """The pause doubles with every try, up to ten minutes; None when there was none."""
    if not attempts or last_at is None:
        return None
    return last_at + timedelta(seconds=min(FIRST_PAUSE_S * 2.0 ** (attempts - 1), LONGEST_PAUSE_S))
