"""What would help a model in an environment, or the models of a server: rules held against what is known."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlencode

from apps.deployments.models import Placement, Run, StepRun
from apps.deployments.selectors.placements import placements
from apps.deployments.states import RolloutKind, RunState, StepState
from apps.fleet import selectors as fleet
from apps.metrics.diagnosis.collecting import LONG_RANGE_S, Known, Unload, collect
from apps.metrics.diagnosis.judging import Finding, Number, diagnose
from apps.metrics.diagnosis.rules import Rule
from apps.metrics.errors import PrometheusFailed
from apps.serving import backends
from apps.serving.protocol import Readiness

MOST_MODELS = 20


@dataclass(frozen=True, slots=True)
class Advice:
    """One finding about one model; `apply_url` is the overlay page with the change filled in, if one would do it."""

    model: str
    environment: str
    rule: Rule
    numbers: tuple[Number, ...]
    server: str
    overlay: tuple[str, ...]
    apply_url: str


@dataclass(frozen=True, slots=True)
class Advised:
    """Everything found; `unjudged` are rules that lack a number, `problem` why nothing could be judged."""

    advice: tuple[Advice, ...]
    unjudged: tuple[tuple[Rule, str], ...] = ()
    problem: str = ""


def advice(*, environment: str, model: str = "", server: str = "", now: datetime) -> Advised:
    """About one model of an environment, or about the models of one of its servers."""
    found = placements(environment=environment, model=model).defer(None).filter(active__isnull=False)
    placed = {one.model.name: one for one in found.select_related("overlay")[:MOST_MODELS]}
    known = _known(placed, environment=environment, server=server, now=now)
    try:
        told = collect(known, environment="" if server else environment, server=server, now=now)
    except PrometheusFailed as error:
        return Advised((), problem=error.message)
    judged = {name: diagnose(one.facts, about=one.slowest) for name, one in told.items()}
    return Advised(
        tuple(_advice(name, environment, finding) for name, one in judged.items() for finding in one.findings),
        tuple(dict.fromkeys(rule for one in judged.values() for rule in one.unjudged)),
    )


def _advice(model: str, environment: str, finding: Finding) -> Advice:
    query = urlencode([("set", one) for one in finding.overlay])
    return Advice(
        model=model,
        environment=environment,
        rule=finding.rule,
        numbers=finding.numbers,
        server=finding.about if finding.rule.key == "slow_server" else "",
        overlay=finding.overlay,
        apply_url=f"/models/{model}/{environment}/overlay/?{query}" if finding.overlay else "",
    )


def _known(placed: Mapping[str, Placement], *, environment: str, server: str, now: datetime) -> dict[str, Known]:
    loaded: dict[str, dict[str, datetime]] = {}
    rows = fleet.observed(environment=environment, server=server).filter(model__in=placed, state=Readiness.READY)
    for row in rows:
        versions = loaded.setdefault(row.model, {})
        versions[str(row.version)] = max(row.since, versions.get(str(row.version), row.since))
    unloads = _unloads(placed, environment=environment, server=server, since=now - timedelta(seconds=LONG_RANGE_S))
    return {name: _of(placement, loaded.get(name, {}), unloads.get(name)) for name, placement in placed.items()}


def _of(placement: Placement, loaded: Mapping[str, datetime], unload: Unload | None) -> Known:
    overlay = placement.overlay.document if placement.overlay else {}
    config = backends.get("triton").CONFIG.merge(placement.active.config if placement.active else {}, overlay)
    groups = config.get("instance_group") or [{}]
    return Known(
        max_batch_size=int(config.get("max_batch_size") or 0),
        instances=sum(int(group.get("count") or 1) for group in groups),
        queue_delay_us=int((config.get("dynamic_batching") or {}).get("max_queue_delay_microseconds") or 0),
        loaded=loaded,
        unload=unload,
    )


def _unloads(placed: Mapping[str, Placement], *, environment: str, server: str, since: datetime) -> dict[str, Unload]:
    """The last unload of each model, where the load before it is recent enough to be seen too."""
    runs = Run.objects.filter(
        model__name__in=placed,
        server__environment__name=environment,
        rollout__kind__in=[RolloutKind.UNLOAD, RolloutKind.RETIRE],
        state=RunState.SUCCEEDED,
        finished_at__gte=since,
    ).select_related("server", "model")
    if server:
        runs = runs.filter(server__name=server)
    ended = {run.model.name: (run.server, run.finished_at) for run in runs.order_by("finished_at") if run.finished_at}
    steps = StepRun.objects.filter(
        name="load", state=StepState.SUCCEEDED, finished_at__gte=since, run__model__name__in=ended
    )
    loads = steps.values_list("run__server_id", "run__model__name", "finished_at").order_by("finished_at")
    found: dict[str, Unload] = {}
    for server_id, model, at in loads:
        on, unloaded_at = ended[model]
        if at is not None and server_id == on.pk and at < unloaded_at:
            found[model] = Unload(on.name, at, unloaded_at)
    return found
