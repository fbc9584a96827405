"""The fleet page where there are many servers: it pages, folds and filters, and says so."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from apps.console.shown import matrix
from apps.deployments import selectors as deployments
from apps.deployments.plan import config_digest
from apps.fleet import selectors as fleet
from apps.fleet.models import Observation, ObservedVersion
from tests.factories.fleets import FleetRows, small_fleet


def three_servers() -> FleetRows:
    """`digits` 1 live and seen on each of three servers in prod."""
    rows = FleetRows()
    rows.environment("prod")
    for name in ("prod-1", "prod-2", "prod-3"):
        rows.server(name, "prod")
    rows.model("digits")
    rows.version("digits", 1)
    rows.placed("digits", "prod", 1)
    return rows


@pytest.mark.parametrize(("servers", "rows"), [(0, 50), (10, 50), (200, 25), (1_000, 5), (5_000, 5)])
def test_a_large_fleet_has_fewer_models_on_a_page(servers: int, rows: int) -> None:
    assert matrix.rows_on_page(servers) == rows


def test_a_part_of_the_fleet_is_chosen_in_the_address_and_stays_chosen(sign_in: Callable[..., Client]) -> None:
    small_fleet()
    viewer = sign_in("viewer")

    page = viewer.get("/", {"environment": "prod", "model": "DIG"}).content.decode()
    nothing = viewer.get("/", {"model": "nobody"}).content.decode()

    assert "<option selected>prod</option>" in page
    assert "staging-1" not in page
    assert ">digits</a>" in page
    assert "environment=prod&amp;model=DIG" in page
    assert ">digits</a>" not in nothing


def test_servers_that_are_alike_are_counted_and_the_odd_one_stands_out(db: None) -> None:
    rows = FleetRows()
    rows.environment("prod")
    for number in range(20):
        rows.server(f"prod-{number:02}", "prod")
    rows.model("digits")
    rows.version("digits", 1)
    rows.placed("digits", "prod", 1)
    rows.observed("prod-07", "digits", 1, state="UNAVAILABLE", reason="no gpu")
    models, servers = [rows.models["digits"]], fleet.servers_at_a_glance()

    (row,) = deployments.fleet_rows(models, list(fleet.environments()), servers)

    assert [(chip.label, chip.tone) for chip in matrix.cell_chips(row.cells["prod"])] == [
        ("1!", "bad"),
        ("1 ×19", "ok"),
    ]


def test_a_server_under_another_overlay_is_not_counted_among_those_that_are_right(db: None) -> None:
    rows = three_servers()
    for name, under in (("prod-1", config_digest({})), ("prod-2", config_digest({"max_batch_size": 4}))):
        ObservedVersion.objects.filter(server=rows.servers[name]).update(loaded_under=under)
    models, servers = [rows.models["digits"]], fleet.servers_at_a_glance()

    (row,) = deployments.fleet_rows(models, list(fleet.environments()), servers)

    assert {cell.server.name: cell.state for cell in row.cells["prod"]} == {
        "prod-1": "serving",
        "prod-2": "drift",
        "prod-3": "serving",
    }


def test_a_server_that_has_what_is_desired_is_unseen_once_it_has_not_answered_for_a_while(db: None) -> None:
    rows, now = three_servers(), timezone.now()
    Observation.objects.update(seen_at=now)
    Observation.objects.filter(server__name="prod-1").update(is_reachable=False)
    Observation.objects.filter(server__name="prod-2").update(seen_at=now - timedelta(seconds=29))
    servers = fleet.servers_at_a_glance()
    found = deployments.fleet_rows([rows.models["digits"]], list(fleet.environments()), servers)

    told = [matrix.as_seen(found, servers, now + timedelta(seconds=later_s))[0] for later_s in (0, 2)]

    assert [{cell.server.name: cell.state for cell in row.cells["prod"]} for row in told] == [
        {"prod-1": "unseen", "prod-2": "serving", "prod-3": "serving"},
        {"prod-1": "unseen", "prod-2": "unseen", "prod-3": "serving"},
    ]


def test_a_versions_page_shows_the_tries_that_failed_and_the_newest_and_counts_the_rest(
    sign_in: Callable[..., Client],
) -> None:
    rows = small_fleet()
    for number in range(20):
        rows.server(f"more-{number:02}", "staging")
    failed = rows.rollout("digits", "staging", 1, 2, state="rolled_back").pk
    newest = rows.rollout("digits", "staging", 1, 2).pk

    page = sign_in("viewer").get("/models/digits/versions/2/").content.decode()
    tries = page[page.index("Aside, before any client") : page.index("<h2>Files</h2>")]

    assert tries.count("<tr>") == 1 + 10
    assert tries.index(f"rollout {failed}<") < tries.index(f"rollout {newest}<")
    assert f'<a href="/rollouts/{newest}/">12 done in rollout {newest}</a>' in tries
