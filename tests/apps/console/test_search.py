"""Finding things from any page."""

import pytest
from django.test import Client

from apps.registry.models import Version
from tests.factories.fleets import FleetRows


def test_what_is_called_exactly_that_is_gone_to_at_once(viewer: Client, rows: FleetRows) -> None:
    answer = viewer.get("/search/?q=DIGITS")

    assert answer.headers["Location"] == "/models/digits/"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("dig", "/models/digits/"),
        ("prod-", "/servers/prod-1/"),
        ("10.0.0.", "/servers/prod-1/"),
        ("c0ffee", "/models/digits/versions/2/"),
        ("sta", "/?environment=staging"),
    ],
)
def test_a_part_of_a_name_an_address_or_a_commit_is_enough(
    text: str, found: str, viewer: Client, rows: FleetRows
) -> None:
    Version.objects.filter(number=2).update(git_commit="c0ffee" + "0" * 34)

    page = viewer.get(f"/search/?q={text}").content.decode()

    assert f'href="{found}"' in page


def test_a_version_is_found_by_model_and_number_and_by_its_digest(viewer: Client, rows: FleetRows) -> None:
    digest = Version.objects.get(number=2).digest

    assert viewer.get("/search/?q=digits 2").headers["Location"] == "/models/digits/versions/2/"
    assert 'href="/models/digits/versions/2/"' in viewer.get(f"/search/?q=sha256:{digest[:16]}").content.decode()


def test_a_rollout_is_found_by_its_number(viewer: Client, rows: FleetRows) -> None:
    number = rows.rollout("digits", "prod", None, 1).pk

    assert f'href="/rollouts/{number}/"' in viewer.get(f"/search/?q={number}").content.decode()


def test_what_is_typed_shows_what_there_is_and_is_never_markup(viewer: Client, rows: FleetRows) -> None:
    part = viewer.get("/search/?part=found&q=<b>").content.decode()

    assert "Nothing is called “&lt;b&gt;”" in part
    assert "<html" not in part
