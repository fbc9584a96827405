"""An upload of several versions waits to be told which one is meant; its bytes are sent once."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from apps.audit.models import Event
from apps.common.actor import COMMAND, Actor
from apps.common.errors import NotAllowed
from apps.registry import selectors, services
from apps.registry.errors import FieldInvalid, NothingToChoose
from apps.registry.models import Version
from tests.apps.registry.conftest import files_under
from tests.factories.archives import MODEL_PY, good, zipped

VIEWER = Actor(kind="token", name="reader", door="api", scopes=frozenset({"read"}))
OTHER = f"{MODEL_PY}\n# the seventh\n"
SEVERAL = zipped([*good(), ("demo/7/model.py", OTHER)])
Arrive = Callable[..., Version]


def choose(directory: str, *, actor: Actor = COMMAND) -> Version:
    return services.choose_version(actor, model="demo", number=1, version_directory=directory)


def checked(version: Version) -> Version:
    services.check_version(version.pk, now=timezone.now())
    return selectors.get_version("demo", version.number)


def test_several_versions_are_kept_and_asked_about(arrive: Arrive, store: Path) -> None:
    version = arrive(SEVERAL)

    assert (version.state, version.choices) == ("choosing", ["1", "7"])
    assert (version.error["code"], "/choose" in version.error["hint"]) == ("several_versions", True)
    assert files_under(store) == [f"incoming/{version.incoming}"]


def test_the_chosen_one_becomes_the_version_and_nothing_else_is_left(arrive: Arrive, store: Path) -> None:
    arrive(SEVERAL)

    version = checked(choose("7"))

    assert version.artifact is not None
    assert (version.state, version.choices, version.choose_until, version.error) == ("ready", [], None, {})
    assert (selectors.artifact_directory(version.artifact) / "version/model.py").read_text() == OTHER
    assert not list((store / "incoming").iterdir())
    assert Event.objects.filter(verb="choose_version", detail__version_directory="7").count() == 1


def test_what_is_wrong_with_the_chosen_one_is_told_as_always(arrive: Arrive) -> None:
    arrive(zipped([*good(), ("demo/7/weights.bin", "x")]))

    version = checked(choose("7"))

    assert (version.state, version.error["code"], version.choices) == ("rejected", "model_file_missing", [])


@pytest.mark.parametrize("directory", ["3", "", "../1", "x" * 5_000])
def test_only_what_the_archive_holds_can_be_chosen(directory: str, arrive: Arrive) -> None:
    arrive(SEVERAL)

    with pytest.raises(FieldInvalid) as refusal:
        choose(directory)

    assert "1, 7" in str(refusal.value.hint)
    assert Version.objects.get().state == "choosing"


def test_choosing_twice_is_refused_with_what_was_chosen(arrive: Arrive) -> None:
    arrive(SEVERAL)
    choose("7")

    with pytest.raises(NothingToChoose, match="is received, 7 was chosen"):
        choose("1")


def test_who_may_not_upload_may_not_choose(arrive: Arrive) -> None:
    arrive(SEVERAL)

    with pytest.raises(NotAllowed):
        choose("7", actor=VIEWER)


def test_named_beforehand_nothing_is_asked(arrive: Arrive) -> None:
    assert arrive(SEVERAL, version_directory="7").state == "ready"


def test_the_bytes_stay_while_an_answer_is_awaited_and_go_when_none_came(arrive: Arrive, store: Path) -> None:
    version = arrive(SEVERAL)
    before = timezone.now() + timedelta(hours=23)

    kept = services.forget_unchosen(before)
    services.sweep_store()
    still = files_under(store)
    gone = services.forget_unchosen(before + timedelta(hours=2))
    version.refresh_from_db()

    assert (kept, len(still), gone, files_under(store)) == (0, 1, 1, [])
    assert (version.state, version.error["code"], version.choices) == ("rejected", "never_chosen", [])
    assert services.forget_unchosen(before + timedelta(hours=2)) == 0


def test_of_very_many_versions_the_newest_can_be_chosen(arrive: Arrive) -> None:
    many = [(f"demo/{number}/model.py", MODEL_PY) for number in range(2, 1_200)]

    version = arrive(zipped([*good(), *many]))

    assert (len(version.choices), version.choices[-1]) == (1_000, "1199")
    assert "the archive holds 1199 versions" in version.error["message"]
