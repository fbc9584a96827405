"""The dry run of retention over REST and in the console."""

import pytest
from django.test import Client

from apps.registry.models import Model
from tests.apps.api import rows

pytestmark = pytest.mark.django_db


def test_the_dry_run_says_what_would_go_and_who_holds_the_rest(ci: Client) -> None:
    live = rows.version(1)
    rows.version(2)
    rows.version(3)
    rows.placement(active=live)
    ci.patch("/api/v1/models/digits", {"keep_versions": 1}, content_type="application/json")

    told = ci.get("/api/v1/retention?model=digits").json()

    assert [(one["version"], one["freed_bytes"]) for one in told["goes"]] == [(2, 3)]
    assert [(one["version"], one["held_by"]) for one in told["held"]] == [(1, ["digits in prod (live)"])]
    assert told["freed_bytes"] == 3
    assert Model.objects.get().keep_versions == 1


def test_a_model_that_is_not_there_is_told(ci: Client) -> None:
    assert ci.get("/api/v1/retention?model=nobody").json()["code"] == "model_unknown"


def test_the_page_shows_the_same(person: "object", ci: Client) -> None:
    rows.version(1)
    rows.version(2)
    Model.objects.update(keep_versions=1)

    page = person(role="viewer").get("/retention/").content.decode()  # type: ignore[operator]

    assert "would free <b>3 B</b>" in page
    assert "/models/digits/versions/1/" in page
