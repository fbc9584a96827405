"""A version that is not checked yet can be given up: while it is fetched, or waits for a choice."""

from collections.abc import Callable
from pathlib import Path

import pytest
from django.utils import timezone
from pytest_django import Settings

from apps.audit.models import Event
from apps.common.actor import COMMAND
from apps.common.errors import NotAllowed
from apps.registry import services
from apps.registry.errors import IncomingFull, NothingToDiscard
from apps.registry.models import Fetch, Version
from tests.apps.registry.conftest import files_under
from tests.apps.registry.fetches import VIEWER, Ask
from tests.apps.registry.sending import Begin
from tests.factories.archives import MODEL_PY, good, zipped
from tests.fixtures.https import Site, reply

SEVERAL = zipped([*good(), ("demo/7/model.py", MODEL_PY)])
Arrive = Callable[..., Version]


def test_one_that_waits_for_a_choice_is_given_up_with_its_bytes(arrive: Arrive, store: Path) -> None:
    arrive(SEVERAL)

    version = services.discard_version(COMMAND, model="demo", number=1)

    assert (version.state, version.error["code"], version.choices) == ("rejected", "version_discarded", [])
    assert files_under(store) == []
    assert Event.objects.filter(verb="discard_version", subject="demo version 1").count() == 1
    assert arrive(zipped(good()), number=1).state == "ready"


def test_one_that_is_still_fetched_is_given_up_and_its_fetch_ends(ask: Ask, root: Path) -> None:
    version = ask(f"{root}/x.zip")

    services.discard_version(COMMAND, model="demo", number=1)
    services.fetch_version(version.pk, now=timezone.now())

    version.refresh_from_db()
    assert (version.state, Fetch.objects.count()) == ("rejected", 0)


def test_who_fetches_it_at_that_moment_stops(ask: Ask, site: Site) -> None:
    version = ask(f"https://{site.place}/x")
    Fetch.objects.all().delete()
    site.answers["/x"] = lambda handler: reply(handler, 200, b"")

    services.fetch_version(version.pk, now=timezone.now())

    assert site.asked == []


def test_one_that_is_past_it_is_not_given_up(arrive: Arrive) -> None:
    arrive(zipped(good()))

    with pytest.raises(NothingToDiscard, match="is ready"):
        services.discard_version(COMMAND, model="demo", number=1)


def test_who_may_not_upload_may_not_discard(arrive: Arrive) -> None:
    arrive(SEVERAL)

    with pytest.raises(NotAllowed):
        services.discard_version(VIEWER, model="demo", number=1)


def test_bytes_that_wait_for_a_choice_count_as_on_their_way_in(
    arrive: Arrive, begin: Begin, settings: Settings
) -> None:
    arrive(SEVERAL)
    settings.CONCH = {**settings.CONCH, "max_incoming_bytes": len(SEVERAL)}

    with pytest.raises(IncomingFull, match=f"{len(SEVERAL):,} are on their way"):
        begin()
    services.discard_version(COMMAND, model="demo", number=1)

    assert begin().state == "receiving"
