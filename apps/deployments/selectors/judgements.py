"""Judgements of gates, read."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime

from django.db.models import QuerySet
from django.utils import timezone

from apps.common.due import furthest, is_due
from apps.deployments.errors import GateFailed
from apps.deployments.models import Judgement, Rollout
from apps.deployments.policy import Policy
from apps.deployments.selectors.policies import rollout_policy
from apps.deployments.states import GOING_ROLLOUT
from apps.metrics.gates import Gate
from apps.metrics.verdicts import Look, Standing, Verdict, standing


def judgements_of(rollout_id: int) -> QuerySet[Judgement]:
    """All of a rollout's, newest first."""
    return Judgement.objects.filter(rollout=rollout_id).order_by("-at", "-pk")


def looks(rollout: Rollout, gates: Iterable[Gate]) -> Mapping[str, list[Look]]:
    """Of the wave it is in, the looks that say how each gate stands: those that failed, and the newest; oldest first.

    The many others of a long bake are not read; nor those that a clock that was ahead has taken.
    """
    taken = Judgement.objects.filter(rollout=rollout, wave=rollout.wave, at__lte=timezone.now() + furthest())
    newest = (taken.filter(gate=gate.name).order_by("-at", "-pk")[: gate.error_limit] for gate in gates)
    rows = {
        row
        for some in (taken.filter(verdict=Verdict.FAIL), *newest)
        for row in some.values_list("at", "pk", "gate", "verdict")
    }
    found: dict[str, list[Look]] = defaultdict(list)
    for at, _, gate, verdict in sorted(rows):
        found[gate].append(Look(at, verdict))
    return found


def standings(rollout: Rollout, policy: Policy, *, since: datetime) -> Mapping[str, Standing]:
    """How each gate stands in this wave, when the decisive look was taken at or after `since`."""
    seen = looks(rollout, policy.gates)
    return {
        gate.name: Standing.PASSED
        if gate.name in rollout.skipped_gates
        else standing(gate, seen.get(gate.name, ()), since=since)
        for gate in policy.gates
    }


def gate_failure(rollout: Rollout) -> GateFailed:
    """Why the gates turn the rollout round: the last look that failed and was not skipped; there must be one."""
    failed = judgements_of(rollout.pk).filter(wave=rollout.wave, verdict=Verdict.FAIL)
    last = failed.exclude(gate__in=list(rollout.skipped_gates))[0]
    gate = next(gate for gate in rollout_policy(rollout).gates if gate.name == last.gate)
    found = "" if last.value is None else f" is {gate.told(last.value)}"
    limit = "" if last.threshold is None else f", the limit is {gate.told(last.threshold)}"
    told = f" ({last.message})" if last.message else ""
    what = f"gate {last.gate} of {rollout.to_version}"
    return GateFailed(f"{what}{found}{limit}{told}", gate=last.gate, judgement=last.pk)


def latest_judgements(rollout: Rollout, policy: Policy) -> Mapping[str, Judgement]:
    """The newest of each gate, however seldom it is judged."""
    newest = Judgement.objects.filter(rollout=rollout).order_by("-wave", "-at", "-pk")
    found = {gate.name: newest.filter(gate=gate.name).first() for gate in policy.gates}
    return {gate: judgement for gate, judgement in found.items() if judgement is not None}


def due_judgements(now: datetime) -> list[int]:
    """Rollouts with gates that are due."""
    due = Rollout.objects.filter(is_due("judge_at", now), state__in=GOING_ROLLOUT)
    return list(due.values_list("pk", flat=True))
