"""Conch's own parts that are not well are told wherever somebody is about to change what is live."""

import pytest
from django.test import Client
from django.utils import timezone

from apps.deployments.models import Rollout
from apps.fleet.models import Part
from apps.fleet.selectors import PARTS

DIALOGS = (
    "/models/digits/in/prod/promote/",
    "/models/digits/in/staging/roll-back/",
    "/models/digits/in/staging/unload/",
    "/models/digits/staging/overlay/0/restore/",
    "/releases/begin/",
)
PAGES = ("/", "/models/digits/", "/servers/prod-1/", "/rollouts/{rollout}/")


@pytest.mark.parametrize("path", [*PAGES, *DIALOGS])
def test_a_worker_that_is_down_is_told_where_live_versions_are_changed(
    path: str, moving: Rollout, operator: Client
) -> None:
    _parts(worker="no worker answers <b>")

    page = operator.get(path.format(rollout=moving.pk)).content.decode()

    assert page.count("Conch itself is not whole.") == 1
    assert "<b>worker</b>: no worker answers &lt;b&gt;" in page


@pytest.mark.parametrize("path", [*PAGES, *DIALOGS])
def test_nothing_is_told_while_all_are_well(path: str, moving: Rollout, operator: Client) -> None:
    _parts()

    assert "Conch itself" not in operator.get(path.format(rollout=moving.pk)).content.decode()


def test_a_page_that_is_open_hears_of_it(moving: Rollout, operator: Client) -> None:
    _parts()
    stamp = operator.get("/servers/prod-1/").context["parts"]["server"]["live"].stamp
    asked = {"part": "server", "updated": stamp}
    before = operator.get("/servers/prod-1/", asked)
    Part.objects.filter(name="beat").update(is_well=False, message="the clock stands")

    after = operator.get("/servers/prod-1/", asked)

    assert (before.status_code, after.status_code) == (304, 200)
    assert "<b>beat</b>: the clock stands" in after.content.decode()


def _parts(**unwell: str) -> None:
    now = timezone.now()
    Part.objects.bulk_create(
        Part(name=name, is_well=name not in unwell, message=unwell.get(name, "well"), at=now, since=now)
        for name in PARTS
    )
