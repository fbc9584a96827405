"""Two who act at once: whoever is second sees what the first has done."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from apps.common.actor import COMMAND
from apps.deployments import errors, selectors, services
from apps.deployments.services.healing import heal
from apps.fleet import selectors as fleet
from tests.factories.fleets import FleetRows
from tests.factories.histories import went_live

PROD: dict[str, Any] = {"environment": "prod", "model": "digits"}
pytestmark = pytest.mark.skipif(
    connection.vendor == "sqlite", reason="SQLite has one writer at a time: nobody waits in the middle"
)


def while_waiting(first: Callable[[], Any], second: Callable[[], Any]) -> Any:
    """`second` begins before `first` is committed, and waits for it; what came of `second`."""
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            first()
            asked = pool.submit(in_thread, second)
            wait_until_blocked()
        return asked.result(timeout=10)


def in_thread(work: Callable[[], Any]) -> Any:
    """On a connection of its own, closed afterwards."""
    try:
        return work()
    finally:
        connection.close()


def wait_until_blocked() -> None:
    """Until another connection of this database waits for a lock."""
    deadline = time.monotonic() + 10
    while not waiting():
        assert time.monotonic() < deadline, "nobody waits"
        time.sleep(0.01)


def waiting() -> int:
    """How many connections of this database wait for a lock."""
    with connection.cursor() as cursor:
        # What is told of others is otherwise remembered until the transaction ends.
        cursor.execute("SELECT pg_stat_clear_snapshot()")
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )
        return int(cursor.fetchone()[0])


def promote() -> Any:
    return services.promote(COMMAND, **PROD, version=2)


def advance(rollout: Any) -> None:
    services.advance_rollout(rollout.pk, now=timezone.now())


def retire() -> Any:
    return services.retire_server(COMMAND, name="prod-2", reason="disk is broken")


def test_a_rollback_takes_over_from_what_begins_while_it_looks(rows: FleetRows) -> None:
    went_live(rows, 2, before=1)
    seen = selectors.get_placement("prod", "digits")

    rollout = while_waiting(
        lambda: heal(seen, [rows.servers["prod-1"]], reason="missing"),
        lambda: services.roll_back(COMMAND, **PROD, reason="slow"),
    )

    (healing,) = rollout.superseded.all()
    assert (rollout.kind, healing.kind, healing.state) == ("rollback", "heal", "failed")


def test_a_server_that_a_rollout_has_just_begun_on_is_not_retired(rows: FleetRows) -> None:
    with pytest.raises(errors.ServerMoving, match="prod-2 is being changed"):
        while_waiting(promote, retire)

    assert fleet.get_server("prod-2").state == "active"


def test_what_serves_is_not_written_down_on_a_server_that_has_just_been_retired(rows: FleetRows) -> None:
    rollout = promote()
    for _ in range(2):
        advance(rollout)
        rollout.runs.filter(state="running").update(state="succeeded", finished_at=timezone.now())

    while_waiting(
        lambda: services.retire_server(COMMAND, name="prod-1", reason="disk is broken"), lambda: advance(rollout)
    )
    advance(rollout)

    assert [run.server.name for run in rollout.runs.filter(direction="settle")] == ["prod-2"]
    assert selectors.state_of(rollout.pk) == "running"


def test_a_rollout_does_not_begin_on_a_server_that_has_just_been_retired(rows: FleetRows) -> None:
    with pytest.raises(errors.PlacementChanged, match="prod-2 was retired just now"):
        while_waiting(retire, promote)

    assert selectors.active_rollout(rows.placements["digits", "prod"]) is None
