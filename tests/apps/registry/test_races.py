"""Two at once: one number each, one check, one model."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from pytest_django import Settings

from apps.audit.models import Event
from apps.common.actor import COMMAND
from apps.common.errors import ControlPlaneError
from apps.registry import services
from apps.registry.models import Model, Upload, Version
from tests.apps.registry.conftest import files_under
from tests.apps.registry.sending import CONTENT, Begin
from tests.factories.archives import good, upload, zipped

pytestmark = pytest.mark.django_db(transaction=True)
AT_ONCE = 6


def at_once(do: Callable[[], Any]) -> list[str]:
    """What each of several threads met: an error's code, or its result."""

    def one(_: int) -> str:
        try:
            return str(do())
        except ControlPlaneError as error:
            return error.code
        finally:
            connection.close()

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return sorted(pool.map(one, range(AT_ONCE)))


def add(**asked: Any) -> Version:
    return services.add_version(COMMAND, model="demo", upload=upload(zipped(good())), **asked)


def test_uploads_at_once_get_a_number_each(registered: str, store: Path) -> None:
    told = at_once(add)

    assert told == [f"demo version {number}" for number in range(1, AT_ONCE + 1)]


def test_the_same_number_asked_for_at_once_is_given_once(registered: str, store: Path) -> None:
    told = at_once(lambda: add(number=7))

    meanwhile = told.count("number_taken_meanwhile")
    assert told[0] == "demo version 7"
    assert meanwhile + told.count("version_number_taken") == AT_ONCE - 1
    assert len(list((store / "incoming").iterdir())) == 1 + meanwhile
    assert Upload.objects.filter(state="numbering").count() == meanwhile


def test_the_same_model_registered_at_once_is_registered_once(store: Path) -> None:
    told = at_once(lambda: services.register_model(COMMAND, name="demo"))

    assert (told, Model.objects.count()) == (["demo"] + ["model_taken"] * (AT_ONCE - 1), 1)


def test_of_uploads_begun_at_once_no_more_are_promised_room_than_there_is(
    begin: Begin, store: Path, settings: Settings
) -> None:
    settings.CONCH = {**settings.CONCH, "max_incoming_bytes": 2 * len(CONTENT) + 5}

    told = at_once(begin)

    assert (told[:-2], Upload.objects.count(), len(files_under(store))) == (["incoming_full"] * (AT_ONCE - 2), 2, 2)


def test_one_sender_s_uploads_begun_at_once_are_no_more_than_it_may_have(begin: Begin, settings: Settings) -> None:
    settings.CONCH = {**settings.CONCH, "max_unfinished_uploads": 3}

    assert at_once(begin).count("too_many_uploads") == AT_ONCE - 3


def test_a_check_delivered_to_several_workers_at_once_is_done_once(registered: str, store: Path) -> None:
    version = add()

    at_once(lambda: services.check_version(version.pk, now=timezone.now()))

    version.refresh_from_db()
    assert (version.state, Event.objects.filter(verb="version_ready").count()) == ("ready", 1)


def test_the_same_bytes_checked_at_once_are_one_artifact(registered: str, store: Path) -> None:
    waiting = [add().pk for _ in range(AT_ONCE)]
    names = iter(waiting)

    at_once(lambda: services.check_version(next(names), now=timezone.now()))

    states = set(Version.objects.values_list("state", "artifact"))
    assert (len(states), {state for state, _ in states}) == (1, {"ready"})
