"""What the clock keeps going: warm-up schedules, and the record of requests Conch itself makes."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from apps.access.services import require
from apps.audit.services import record
from apps.common.actor import Actor
from apps.common.due import is_due
from apps.common.errors import Invalid
from apps.deployments.models import Placement, Probe, WarmupSchedule
from apps.deployments.selectors.placements import get_placement
from apps.deployments.services.judging import ToJudge
from apps.fleet.models import Server

SHORTEST_S = 10
KEEP_PROBES = timedelta(days=7)


class TooOften(Invalid):
    """A warm-up schedule that would be traffic of its own."""

    code = "warmup_too_often"
    hint = f"Use {SHORTEST_S} seconds or more."


def schedule_warmup(
    actor: Actor, *, environment: str, model: str, every_s: int, is_enabled: bool = True
) -> WarmupSchedule:
    """Keep a placement warm every `every_s` seconds, on every server."""
    require(actor, "schedule_warmup", environment)
    placement = get_placement(environment, model)
    if every_s < SHORTEST_S:
        raise TooOften(f"warming {placement} every {every_s} s is too often", field="every_s")
    # A shorter interval counts from now, not from when the longer one would have been over.
    wanted = {"every_s": every_s, "is_enabled": is_enabled, "created_by": actor.name, "next_at": timezone.now()}
    with transaction.atomic():
        schedule, _ = WarmupSchedule.objects.update_or_create(placement=placement, defaults=wanted)
        record(
            actor,
            "schedule_warmup",
            subject_kind="placement",
            subject=str(placement),
            environment=environment,
            model=model,
            every_s=every_s,
            is_enabled=is_enabled,
        )
    return schedule


def claim_due_warmups(now: datetime) -> list[Placement]:
    """Placements to warm now; each is claimed by one caller only."""
    put_off = WarmupSchedule.objects.filter(is_due("next_at", now), is_enabled=True, placement__active__isnull=False)
    claimed = []
    for schedule in put_off.select_related(
        "placement__environment", "placement__model", "placement__active", "placement__standby"
    ):
        interval = timedelta(seconds=schedule.every_s)
        # Further ahead than the interval: a clock that was ahead wrote it.
        if now < schedule.next_at <= now + interval:
            continue
        mine = WarmupSchedule.objects.filter(pk=schedule.pk, next_at=schedule.next_at)
        if mine.update(next_at=now + interval):
            claimed.append(schedule.placement)
    return claimed


def record_probe(
    placement: Placement,
    server: Server,
    *,
    version: int,
    kind: str,
    at: datetime,
    latency_us: int | None = None,
    message: str = "",
) -> Probe:
    """Keep one request Conch made; an empty message means that it passed."""
    return Probe.objects.create(
        placement=placement,
        server=server,
        version=version,
        kind=kind,
        at=at,
        has_passed=not message,
        latency_us=latency_us,
        message=message,
    )


def record_probes(todo: ToJudge, made: Iterable[tuple[Server, str, Iterable[tuple[int | None, str]]]]) -> None:
    """Keep the requests of one look at a rollout's gates: server, kind, and (latency, message) of each."""
    Probe.objects.bulk_create(
        Probe(
            placement_id=todo.rollout.placement_id,
            server=server,
            version=todo.subject.version,
            kind=kind,
            has_passed=not message,
            latency_us=latency_us,
            message=message,
        )
        for server, kind, answers in made
        for latency_us, message in answers
    )


def forget_old_probes(now: datetime) -> int:
    """Drop probes older than a week; how many went."""
    return Probe.objects.filter(at__lt=now - KEEP_PROBES).delete()[0]
