"""A fleet with everything wrong that can be shown, and one of any size."""

from django.utils import timezone

from apps.audit.models import Event
from apps.deployments.models import Probe, Rollout, WarmupSchedule
from tests.factories.drift import add_drift
from tests.factories.fleets import TRACEBACK, FleetRows, small_fleet
from tests.factories.memory import GIB, reading


def break_things(rows: FleetRows) -> Rollout:
    """A moving rollout, a failed one, drift, a server that is gone, one that was refused; the moving rollout."""
    rows.server("prod-3", "prod", is_reachable=False)
    rows.server("prod-4", "prod", cordoned_at=timezone.now(), cordon_reason="disk is being replaced")
    rows.server(
        "prod-5",
        "prod",
        state="refused",
        finding={
            "code": "not_explicit",
            "title": "Not explicit",
            "message": "prod-5: does not take load requests",
            "hint": "Start it with --model-control-mode=explicit.",
        },
    )
    rows.server("prod-6", "prod", state="checking")
    rows.model("resnet50", slo_p99_ms=None, slo_error_ratio=None)
    for number in (10, 11):
        rows.version("resnet50", number)
    rows.placed("resnet50", "prod", 11, 10)
    rows.observed("prod-2", "resnet50", 11, state="UNAVAILABLE", reason=TRACEBACK)
    rows.rollout(
        "resnet50",
        "prod",
        10,
        11,
        state="rolled_back",
        error={"code": "shadow_failed", "message": TRACEBACK.splitlines()[0], "hint": "Read what the model said."},
    )
    add_drift(rows.servers)
    reading(rows.servers["prod-1"], "resnet50", 10, before=2 * GIB, after=5 * GIB)
    reading(rows.servers["prod-1"], "resnet50", 10, before=5 * GIB, after=5 * GIB, action="unload")
    WarmupSchedule.objects.create(placement=rows.placements["digits", "prod"], every_s=600)
    for passed in (True, False):
        Probe.objects.create(
            placement=rows.placements["digits", "prod"],
            server=rows.servers["prod-1"],
            version=1,
            kind="warmup",
            has_passed=passed,
            latency_us=2_345,
            message="" if passed else "prod-1: the model answered with an error",
        )
    return rows.rollout("digits", "prod", 1, 2, state="running")


def large_fleet(size: int) -> FleetRows:
    """`size` models with `size` versions each of the first, on `size` servers, with as much history."""
    rows = small_fleet()
    for number in range(size):
        rows.server(f"node-{number:03}", "prod")
    for number in range(size):
        name = f"model-{number:03}"
        rows.model(name)
        rows.version(name, 1)
        rows.placed(name, "prod", 1)
        rows.rollout(name, "prod", None, 1)
        rows.version("digits", number + 10)
        Event.objects.create(
            at=timezone.now(),
            verb="promote",
            actor_kind="user",
            actor="alice",
            door="console",
            subject_kind="rollout",
            subject=str(number),
            environment="prod",
            model=name,
        )
    return rows
