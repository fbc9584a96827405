"""Signing in, tokens and people at the console."""

import re

from django.contrib.auth.models import User
from django.test import Client

from apps.access.models import ApiToken, Grant
from tests.apps.console.conftest import PASSWORD


def test_signing_in_leads_back_to_where_one_wanted_to_go(db: None) -> None:
    User.objects.create_superuser("alice", password=PASSWORD)

    answer = Client().post("/sign-in/", {"username": "alice", "password": PASSWORD, "next": "/servers/"})

    assert answer.headers["Location"] == "/servers/"


def test_signing_in_never_leads_elsewhere(db: None) -> None:
    User.objects.create_superuser("alice", password=PASSWORD)

    answer = Client().post("/sign-in/", {"username": "alice", "password": PASSWORD, "next": "//evil.example/"})

    assert answer.headers["Location"] == "/"


def test_after_ten_failures_even_the_right_password_has_to_wait_a_minute(db: None) -> None:
    User.objects.create_superuser("alice", password=PASSWORD)
    guesser = Client()
    for _ in range(10):
        guesser.post("/sign-in/", {"username": "alice", "password": "a guess"})

    answer = guesser.post("/sign-in/", {"username": "alice", "password": PASSWORD})

    assert answer.status_code == 429
    assert "Wait a minute" in answer.content.decode()


def test_failures_from_elsewhere_lock_nobody_out(db: None) -> None:
    User.objects.create_superuser("alice", password=PASSWORD)
    guesser = Client(REMOTE_ADDR="10.0.0.66")
    for _ in range(11):
        guesser.post("/sign-in/", {"username": "alice", "password": "a guess"})

    answer = Client().post("/sign-in/", {"username": "alice", "password": PASSWORD})

    assert answer.status_code == 302


def test_a_wrong_password_is_said_without_saying_which_part_was_wrong(db: None) -> None:
    User.objects.create_superuser("alice", password=PASSWORD)

    pages = [
        Client().post("/sign-in/", {"username": name, "password": "wrong"}).content.decode()
        for name in ("alice", "bob")
    ]

    assert all("do not go together" in page for page in pages)


def test_signing_out_ends_the_session(viewer: Client) -> None:
    viewer.post("/sign-out/")

    assert viewer.get("/").status_code == 302


def test_a_token_is_shown_once(boss: Client) -> None:
    sent = {"name": "ci-main", "scopes": ["deploy"], "environment": "*", "days": "90"}

    page = boss.post("/tokens/issue/", sent).content.decode()

    secret = re.search(r'id="secret">(conch_[^<]+)<', page)
    assert secret
    assert secret.group(1) not in boss.get("/tokens/").content.decode()
    assert ApiToken.objects.get().scopes == ["deploy"]


def test_a_revoked_token_is_no_good_any_more(boss: Client) -> None:
    boss.post("/tokens/issue/", {"name": "ci-main", "scopes": ["read"], "environment": "*", "days": "30"})
    token = ApiToken.objects.get()

    boss.post(f"/tokens/{token.pk}/revoke/")

    token.refresh_from_db()
    assert token.revoked_at is not None


def test_a_person_is_added_and_granted_a_role(boss: Client) -> None:
    boss.post("/people/add/", {"username": "bob", "password": PASSWORD})

    boss.post("/people/grant/", {"username": "bob", "role": "operator", "environment": "*"})

    grant = Grant.objects.get(user__username="bob")
    assert (grant.role, grant.environment) == ("operator", "*")


def test_a_weak_password_is_refused_beside_its_field(boss: Client) -> None:
    answer = boss.post("/people/add/", {"username": "bob", "password": "short"})

    assert answer.status_code == 400
    assert not User.objects.filter(username="bob").exists()


def test_a_new_password_ends_what_the_person_was_signed_in_to(boss: Client, operator: Client) -> None:
    name = User.objects.exclude(is_superuser=True).get(grants__role="operator").username

    boss.post(f"/people/{name}/password/", {"password": "another horse battery"})

    assert operator.get("/").status_code == 302
    assert User.objects.get(username=name).check_password("another horse battery")


def test_closing_a_person_says_which_tokens_end_and_signs_them_out(boss: Client, operator: Client) -> None:
    name = User.objects.exclude(is_superuser=True).get(grants__role="operator").username
    ApiToken.objects.create(name="ci-nightly", digest="x", issued_by=name)

    asked = boss.get(f"/people/{name}/close/").content.decode()
    boss.post(f"/people/{name}/close/")

    assert "1 token that" in asked
    assert "ci-nightly" in asked
    assert operator.get("/").status_code == 302
    assert ApiToken.objects.filter(revoked_at=None).count() == 0
    assert '<span class="chip is-mute">closed</span>' in boss.get("/people/").content.decode()


def test_many_people_and_tokens_are_paged_and_searched(boss: Client) -> None:
    User.objects.bulk_create(User(username=f"person-{n:03}") for n in range(300))
    ApiToken.objects.bulk_create(ApiToken(name=f"ci-{n:03}", digest=str(n), issued_by="bob") for n in range(500))

    people, tokens, found, nobody = (
        boss.get(where).content.decode()
        for where in ("/people/", "/tokens/", "/tokens/?search=bob&page=2", "/people/?search=nobody")
    )

    assert (people.count("Password…"), "Page 1 of 7" in people) == (50, True)
    assert (tokens.count("Revoke…"), "Page 1 of 10" in tokens) == (50, True)
    assert '<a rel="next" href="?search=bob&amp;page=3">' in found
    assert "Nobody matches" in nobody


def test_the_last_admin_is_refused_in_words(boss: Client) -> None:
    name = User.objects.get(grants__role="admin").username

    closed = boss.post(f"/people/{name}/close/")
    lowered = boss.post("/people/grant/", {"username": name, "environment": "*", "role": "viewer"})

    assert (closed.status_code, lowered.status_code) == (409, 409)
    assert all("the only admin" in answer.content.decode() for answer in (closed, lowered))
