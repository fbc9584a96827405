"""Releases of two models as rows, walked by hand."""

from django.utils import timezone

from apps.common.actor import COMMAND
from apps.deployments import selectors, services
from apps.deployments.models import Release, Rollout, Run, StepRun
from tests.factories.fleets import FleetRows
from tests.factories.histories import passed_shadow

PAIR = [{"model": "digits", "version": 2}, {"model": "letters", "version": 2}]


def with_letters(rows: FleetRows) -> FleetRows:
    """A second model beside `digits`: version 1 live in prod, version 2 ready."""
    rows.model("letters")
    for number in (1, 2):
        rows.version("letters", number)
    rows.placed("letters", "prod", 1)
    return rows


def begin() -> Release:
    return services.begin_release(COMMAND, environment="prod", items=PAIR, reason="together")


def advance(release: Release) -> dict[str, Rollout]:
    """Walk each rollout once; they, by model."""
    for rollout in release.rollouts.order_by("pk"):
        services.advance_rollout(rollout.pk, now=timezone.now())
    return {rollout.placement.model.name: rollout for rollout in selectors.get_release(release.pk).rollouts.all()}


def arrive(run: Run, *steps: str) -> None:
    """The run has come through these steps; the last one is where it is."""
    for position, name in enumerate(steps):
        is_last = position == len(steps) - 1
        StepRun.objects.update_or_create(
            run=run,
            name=name,
            defaults={
                "position": position,
                "state": "running" if is_last else "succeeded",
                "started_at": timezone.now(),
            },
        )


def pass_all(release: Release) -> None:
    """Every forward run that moves succeeds."""
    Run.objects.filter(rollout__release=release, direction="forward", state="running").update(
        state="succeeded", has_changed_server=True, finished_at=timezone.now()
    )


def settle(release: Release) -> None:
    """What settles or puts back has done its work."""
    Run.objects.filter(rollout__release=release, state="running").exclude(direction="forward").update(
        state="succeeded", finished_at=timezone.now()
    )


def live(model: str) -> int | None:
    active = selectors.get_placement("prod", model).active
    return active.number if active else None


def released(pair: FleetRows) -> Release:
    """Both models are on version 2 by a release, and 1 has passed its shadow before."""
    for model in ("digits", "letters"):
        passed_shadow(pair, 1, model=model)
    release = begin()
    advance(release)
    pass_all(release)
    for _ in range(3):
        advance(release)
        settle(release)
    advance(release)
    assert (live("digits"), live("letters")) == (2, 2)
    return release
