"""Live parts: asked again they answer with what moved, or with 304 and nothing."""

import re

from django.test import Client

from apps.deployments.models import Rollout
from tests.factories.fleets import FleetRows


def part_of(page: str, name: str) -> str:
    """The address at which a live part asks again."""
    found = re.search(rf'id="live-{name}"[^>]*hx-get="([^"]+)"', page)
    assert found, page[:2000]
    return found.group(1).replace("&amp;", "&")


def test_nothing_is_sent_when_nothing_moved(rows: FleetRows, viewer: Client) -> None:
    address = part_of(viewer.get("/").content.decode(), "matrix")

    answer = viewer.get(address)

    assert answer.status_code == 304
    assert answer.content == b""


def test_the_part_alone_is_sent_when_something_moved(rows: FleetRows, viewer: Client) -> None:
    address = part_of(viewer.get("/").content.decode(), "matrix")
    rows.observed("prod-1", "digits", 1, state="UNAVAILABLE")

    answer = viewer.get(address)

    page = answer.content.decode()
    assert answer.status_code == 200
    assert answer.headers["X-Conch-Fragment"] == "1"
    assert "1 is not loaded" in page or "1 failed" in page
    assert "<html" not in page


def test_the_new_part_knows_its_new_stamp(rows: FleetRows, viewer: Client) -> None:
    address = part_of(viewer.get("/").content.decode(), "matrix")
    rows.observed("prod-1", "digits", 1, state="UNAVAILABLE")

    again = part_of(viewer.get(address).content.decode(), "matrix")

    assert again != address
    assert viewer.get(again).status_code == 304


def test_a_page_asks_twice_a_second_while_something_moves(moving: Rollout, viewer: Client) -> None:
    page = viewer.get(f"/rollouts/{moving.pk}/").content.decode()

    assert 'data-every-s="0.5"' in page


def test_a_page_asks_every_five_seconds_otherwise(rows: FleetRows, viewer: Client) -> None:
    page = viewer.get("/").content.decode()

    assert 'data-every-s="5"' in page


def test_the_end_of_a_rollout_is_told(rows: FleetRows, viewer: Client) -> None:
    ended = rows.rollout("digits", "prod", 1, 2, state="rolled_back")

    page = viewer.get(f"/rollouts/{ended.pk}/").content.decode()

    assert 'data-ended="digits 1 → 2 in prod: rolled back"' in page


def test_each_part_of_a_page_has_a_stamp_of_its_own(rows: FleetRows, viewer: Client) -> None:
    page = viewer.get("/models/digits/").content.decode()
    cards, history = part_of(page, "cards"), part_of(page, "history")
    rows.version("digits", 9)

    assert viewer.get(cards).status_code == 304
    assert viewer.get(history).status_code == 200


def test_filters_and_pages_stay_when_a_part_asks_again(rows: FleetRows, viewer: Client) -> None:
    page = viewer.get("/rollouts/?environment=prod&state=succeeded").content.decode()

    address = part_of(page, "rollouts")

    assert "environment=prod" in address
    assert "state=succeeded" in address
