"""Every page, for everybody who may see it."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import resolve

from apps.deployments.models import Rollout
from apps.registry.models import Artifact
from tests.apps.console.places import OTHERS, PAGES, names
from tests.factories.fleets import FleetRows

FOR_ADMINS = frozenset({"/tokens/", "/tokens/issue/", "/people/", "/people/add/", "/people/grant/"})


def test_the_list_of_pages_is_whole() -> None:
    visited = {resolve(page).url_name for page in PAGES}

    assert visited | OTHERS == names()


@pytest.mark.parametrize("where", PAGES)
def test_an_admin_sees_it(where: str, moving: Rollout, boss: Client) -> None:
    answer = boss.get(where)

    assert answer.status_code == 200
    assert "<h1" in answer.content.decode()


@pytest.mark.parametrize("where", sorted(set(PAGES) - FOR_ADMINS))
def test_a_viewer_sees_it(where: str, moving: Rollout, viewer: Client) -> None:
    answer = viewer.get(where)

    assert answer.status_code == 200


@pytest.mark.parametrize("where", sorted(FOR_ADMINS))
def test_an_operator_is_told_that_it_is_for_admins(where: str, operator: Client) -> None:
    answer = operator.get(where)

    assert answer.status_code == 403
    assert "It needs the role admin everywhere" in answer.content.decode()


@pytest.mark.parametrize("where", PAGES)
def test_a_stranger_is_asked_to_sign_in(where: str, db: None) -> None:
    answer = Client().get(where)

    assert answer.status_code == 302
    assert answer.headers["Location"].startswith("/sign-in/")


def test_somebody_without_a_role_is_told_what_is_missing(db: None) -> None:
    client = Client()
    client.force_login(User.objects.create_user("new"))

    answer = client.get("/")

    assert answer.status_code == 403
    assert "It needs the role viewer" in answer.content.decode()


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("/models/nope/", "there is no model"),
        ("/models/digits/versions/99/", "no version 99"),
        ("/servers/nope/", "there is no server"),
        ("/rollouts/999999/", "there is no rollout 999999"),
        ("/models/digits/in/dev/roll-back/", "never been placed in dev"),
    ],
)
def test_what_is_not_there_says_so(where: str, words: str, rows: FleetRows, viewer: Client) -> None:
    answer = viewer.get(where)

    assert answer.status_code == 404
    assert words in answer.content.decode()


def test_a_page_that_never_was_has_the_console_around_it(viewer: Client) -> None:
    answer = viewer.get("/nowhere/")

    assert answer.status_code == 404
    assert "Nothing is here" in answer.content.decode()


@pytest.mark.parametrize(
    "where",
    [
        "/models/a%00b/",
        "/models/?search=a%00b",
        "/servers/a%00b/",
        "/search/?q=a%00b",
        "/rollouts/?model=a%00b",
        "/audit/?actor=a%00b",
        "/audit/export.csv?actor=a%00b",
        f"/rollouts/{10**30}/",
    ],
)
def test_what_no_database_can_look_for_is_refused_or_not_there(where: str, rows: FleetRows, boss: Client) -> None:
    answer = boss.get(where)

    assert answer.getvalue()
    assert answer.status_code in {200, 400, 404}


def test_a_defect_shows_no_traceback(rows: FleetRows, viewer: Client) -> None:
    viewer.raise_request_exception = False
    Artifact.objects.update(files=[{"no": "path"}])

    answer = viewer.get("/models/digits/versions/2/")

    assert answer.status_code == 500
    assert "Conch itself failed here" in answer.content.decode()
    assert "KeyError" not in answer.content.decode()


def test_words_of_servers_and_models_are_escaped(rows: FleetRows, moving: Rollout, viewer: Client) -> None:
    failed = f"/rollouts/{moving.pk - 1}/"

    pages = [viewer.get(page).content.decode() for page in ("/servers/prod-2/", failed, "/models/resnet50/")]

    assert all("<script>alert" not in page for page in pages)
    assert all("&lt;script&gt;alert(1)" in page for page in pages[:2])


def test_an_empty_fleet_teaches_how_to_begin(viewer: Client) -> None:
    page = viewer.get("/").content.decode()

    assert "tritonserver --model-repository=/srv/models/prod --model-control-mode=explicit" in page
    assert "Register a model" in page


def test_no_page_has_an_inline_script_or_style(moving: Rollout, boss: Client) -> None:
    pages = "".join(boss.get(page).content.decode() for page in PAGES)

    assert " style=" not in pages
    assert "<style" not in pages
    assert " onclick=" not in pages
    assert "<script>" not in pages
