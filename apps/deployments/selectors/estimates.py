"""How long a rollout takes, from what such changes took before and what it took itself so far."""

from collections.abc import Collection, Iterable
from datetime import datetime

from django.db.models import Avg, F

from apps.common.estimate import Estimate
from apps.deployments.estimating import WaveLeft, through_at
from apps.deployments.models import Rollout, Run
from apps.deployments.policy import Policy
from apps.deployments.selectors.policies import rollout_policies
from apps.deployments.selectors.rollouts import RunCount, has_ended, run_counts_of
from apps.deployments.selectors.targets import last_seconds
from apps.deployments.states import IN_WAVES, RolloutKind, RolloutState, RunDirection, RunState
from apps.registry.models import Model, Version

# Runs whose mean time is what the next one is expected to take.
RUNS_SEEN = 20
LATE = "it takes longer than it did before"
JUDGED = "its bake is over, and its gates are being looked at"
_STANDS = {
    RolloutState.UNAPPROVED: "it begins once somebody has approved",
    RolloutState.PAUSED: "it is paused",
    RolloutState.REVERTING: "what has changed so far is being put back",
}


def mean_run_s(model: Model, *, kind: str) -> float | None:
    """What a server took in this model's last changes of that kind, from its first step to its last."""
    runs = Run.objects.filter(model=model, rollout__kind=kind, direction=RunDirection.FORWARD, state=RunState.SUCCEEDED)
    last = list(runs.order_by("-pk").values_list("pk", flat=True)[:RUNS_SEEN])
    took = Run.objects.filter(pk__in=last).aggregate(mean=Avg(F("finished_at") - F("started_at")))["mean"]
    return None if took is None else round(took.total_seconds(), 1)


def expected_run_s(kind: str, model: Model, to: Version | None, *, is_hot: bool) -> float | None:
    """What one server will take in a change that begins now; None where it is a moment, or was never seen."""
    if is_hot:
        return None
    if kind == RolloutKind.ROLLBACK:
        return last_seconds(to) if to else None
    return mean_run_s(model, kind=kind) if kind in IN_WAVES else None


def estimate(rollout: Rollout, counts: Collection[RunCount], policy: Policy, *, now: datetime) -> Estimate:
    """When it will have gone forward on every server, its bakes included; nothing of one that has ended."""
    if has_ended(rollout.state):
        return Estimate()
    if rollout.state in _STANDS:
        return Estimate(why=_STANDS[RolloutState(rollout.state)])
    if rollout.release_id is not None:
        return Estimate(why="it goes live together with the rest of its release")
    waves = _waves_left(rollout, counts, policy)
    if not waves:
        return Estimate(why="every server is done; what now serves is being written down")
    return _of_waves(rollout, waves, counts, policy, now=now)


def estimates(rollouts: Iterable[Rollout], *, now: datetime) -> dict[int, Estimate]:
    """The same of each that has not ended, by its number: one query for all, none where nothing moves."""
    moving = [rollout for rollout in rollouts if not has_ended(rollout.state)]
    counts = run_counts_of([rollout.pk for rollout in moving])
    policies = rollout_policies(moving)
    return {one.pk: estimate(one, counts[one.pk], policies[one.pk], now=now) for one in moving}


def _of_waves(
    rollout: Rollout, waves: list[WaveLeft], counts: Collection[RunCount], policy: Policy, *, now: datetime
) -> Estimate:
    each_s = _each_s(rollout, counts)
    if each_s is None and any(wave.queued or wave.running for wave in waves):
        return Estimate(why="no server is done yet")
    parallel = policy.parallel if rollout.goes_in_waves else max(sum(one.number for one in counts), 1)
    ends_at = through_at(waves, each_s=each_s or 0.0, parallel=parallel, baking_since=rollout.baking_since, now=now)
    if ends_at is not None:
        return Estimate(ends_at)
    is_baked = not waves[0].queued and not waves[0].running
    return Estimate(why=JUDGED if is_baked else LATE)


def _each_s(rollout: Rollout, counts: Iterable[RunCount]) -> float | None:
    """A server's time in this rollout, once one is done; before that, what was expected when it began."""
    done = [one for one in counts if one.state == RunState.SUCCEEDED and one.mean_s is not None]
    forward = [one for one in done if one.direction == RunDirection.FORWARD]
    if forward:
        return sum((one.mean_s or 0.0) * one.number for one in forward) / sum(one.number for one in forward)
    expected = rollout.plan.get("each_s")
    return float(expected) if isinstance(expected, int | float) else None


def _waves_left(rollout: Rollout, counts: Collection[RunCount], policy: Policy) -> list[WaveLeft]:
    """The wave under way and those after it; none once every server is done."""
    forward = [one for one in counts if one.direction == RunDirection.FORWARD]
    if not rollout.goes_in_waves:
        wave = _wave_left(forward, bake_s=0)
        return [wave] if wave.queued or wave.running else []
    waves = max(len(rollout.plan.get("waves", ())), 1)
    return [
        _wave_left([one for one in forward if one.wave == number], bake_s=policy.bake_after(number, waves=waves))
        for number in range(rollout.wave, waves)
    ]


def _wave_left(counts: Collection[RunCount], *, bake_s: float) -> WaveLeft:
    running = [one for one in counts if one.state == RunState.RUNNING]
    return WaveLeft(
        queued=sum(one.number for one in counts if one.state == RunState.QUEUED),
        running=sum(one.number for one in running),
        last_began_at=max((one.last_began_at for one in running if one.last_began_at), default=None),
        bake_s=bake_s,
    )
