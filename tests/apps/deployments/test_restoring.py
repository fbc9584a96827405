"""The time to restore: from the ask to the last server that answers right."""

from datetime import timedelta

from django.utils import timezone

from apps.common.actor import COMMAND
from apps.deployments import selectors, services
from apps.deployments.models import Run
from tests.apps.deployments.test_rolling_back import PROD, live
from tests.factories.fleets import FleetRows


def test_the_time_to_restore_is_that_of_the_last_server_that_can_be_reached(rows: FleetRows) -> None:
    live(rows)
    rollout = services.roll_back(COMMAND, **PROD, reason="slow")
    seconds = {"prod-1": 1, "prod-2": 4}
    for run in rollout.runs.all():
        finished = rollout.created_at + timedelta(seconds=seconds[run.server.name])
        Run.objects.filter(pk=run.pk).update(state="succeeded", finished_at=finished)
    Run.objects.filter(server__name="prod-2").update(state="failed", error={"code": "server_unreachable"})

    services.advance_rollout(rollout.pk, now=timezone.now())

    assert selectors.get_rollout(rollout.pk).time_to_restore_s == 1.0


def test_there_is_no_time_to_restore_while_a_server_serves_the_bad_version(rows: FleetRows) -> None:
    live(rows)
    rollout = services.roll_back(COMMAND, **PROD, reason="slow")
    rollout.runs.filter(position=0).update(state="succeeded", finished_at=timezone.now())
    rollout.runs.filter(position=1).update(state="failed", error={"code": "load_refused", "message": "no"})

    services.advance_rollout(rollout.pk, now=timezone.now())

    assert selectors.get_rollout(rollout.pk).time_to_restore_s is None
