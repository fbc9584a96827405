"""When a rollout is looked at after a run has ended: at once, or together with what else ends in a crowd."""

from functools import partial

import pytest
from django.db import connection, transaction
from django.utils import timezone

from apps.common.actor import COMMAND
from apps.deployments import services
from apps.deployments.models import Run, StepRun
from tests.factories.fleets import FleetRows
from worker import engine


def with_all_steps_done(*, servers: int) -> Run:
    """One run of a promotion over so many servers at once, whose worker was lost right before its end."""
    rows = FleetRows()
    rows.environment("prod")
    rows.model("digits")
    rows.version("digits", 2)
    for number in range(servers):
        rows.server(f"prod-{number}", "prod")
    services.update_environment(COMMAND, name="prod", parallel=servers)
    rollout = services.promote(COMMAND, environment="prod", model="digits", version=2)
    now = timezone.now()
    services.advance_rollout(rollout.pk, now=now)
    run = rollout.runs.earliest("pk")
    for position, name in enumerate(run.recipe):
        StepRun.objects.create(run=run, name=name, position=position, state="succeeded", started_at=now)
    return run


@pytest.mark.parametrize(("servers", "after_s"), [(8, 0), (9, 0.5)])
def test_of_many_servers_on_their_way_those_that_end_together_are_one_look(
    transactional_db: None, servers: int, after_s: float
) -> None:
    run = with_all_steps_done(servers=servers)

    with transaction.atomic():
        engine.advance_run(run.pk)
        send = connection.run_on_commit[0][1]

    run.refresh_from_db()
    assert isinstance(send, partial)
    assert (run.state, *send.args[:2]) == ("succeeded", "conch.advance_rollout", after_s)
