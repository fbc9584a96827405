"""Signing in, tokens and people."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone

from apps.access import selectors as accounts
from apps.access import services as access
from apps.console.door import Question, actor, ask, page
from apps.console.forms.access import GrantForm, PasswordForm, ReasonlessForm, TokenForm, UserForm
from apps.console.shown.words import count
from apps.fleet import selectors as fleet

TOKENS, PEOPLE = "console:tokens", "console:people"
ROWS = 50


def tokens(request: HttpRequest) -> HttpResponse:
    """Every token ever issued, never its secret."""
    access.require(actor(request), "issue_token")
    search = request.GET.get("search", "").strip()
    rows = Paginator(accounts.tokens(search=search), ROWS).get_page(request.GET.get("page"))
    return page(request, "access/token_list.html", section="tokens", rows=rows, search=search, now=timezone.now())


def issue_token(request: HttpRequest) -> HttpResponse:
    """Issue a token and show its secret this once."""
    access.require(actor(request), "issue_token")
    form = TokenForm(request.POST or None, environments=_environments())
    question = Question("Issue a token", "Issue token", reverse(TOKENS), intro="The secret is shown once, after this.")
    issued: dict[str, Any] = {}

    def act(given: Mapping[str, Any]) -> str:
        days = given["days"]
        token, secret = access.issue_token(
            actor(request),
            name=given["name"],
            scopes=given["scopes"],
            environment=given["environment"],
            expires_at=timezone.now() + timedelta(days=days) if days else None,
        )
        issued.update(token=token, secret=secret)
        return reverse(TOKENS)

    answer = ask(request, question, form, act, section="tokens")
    return page(request, "access/token_issued.html", section="tokens", **issued) if issued else answer


def revoke_token(request: HttpRequest, token_id: int) -> HttpResponse:
    """End a token now."""
    token = accounts.get_token(token_id)
    question = Question(
        f"Revoke token {token.name}",
        f"Revoke {token.name} now",
        reverse(TOKENS),
        consequences=("Every script that uses it is refused from now on. This cannot be undone.",),
        is_dangerous=True,
    )

    def act(_: Mapping[str, Any]) -> str:
        access.revoke_token(actor(request), token_id)
        messages.success(request, f"Token {token.name} is revoked.")
        return reverse(TOKENS)

    return ask(
        request, question, ReasonlessForm(request.POST if request.method == "POST" else None), act, section="tokens"
    )


def people(request: HttpRequest) -> HttpResponse:
    """Accounts and what each may do."""
    access.require(actor(request), "add_user")
    search = request.GET.get("search", "").strip()
    rows = Paginator(accounts.users(search=search), ROWS).get_page(request.GET.get("page"))
    return page(request, "access/people_list.html", section="people", rows=rows, search=search)


def add_person(request: HttpRequest) -> HttpResponse:
    """Add an account, with a role if given."""
    access.require(actor(request), "add_user")
    form = UserForm(request.POST or None)
    question = Question("Add a person", "Add person", reverse(PEOPLE))

    def act(given: Mapping[str, Any]) -> str:
        access.add_user(actor(request), username=given["username"], password=given["password"])
        messages.success(request, f"{given['username']} can sign in; grant a role so that they can do something.")
        return reverse("console:grant") + f"?username={given['username']}"

    return ask(request, question, form, act, section="people")


def grant(request: HttpRequest) -> HttpResponse:
    """Give or take a role."""
    access.require(actor(request), "grant_role")
    initial = {"username": request.GET.get("username", "")}
    form = GrantForm(request.POST or None, initial=initial, environments=_environments())
    question = Question("Grant a role", "Grant", reverse(PEOPLE))

    def act(given: Mapping[str, Any]) -> str:
        access.grant_role(
            actor(request), username=given["username"], role=given["role"], environment=given["environment"]
        )
        messages.success(
            request, f"{given['username']} is now {given['role'] or 'without a role'} in {given['environment']}."
        )
        return reverse(PEOPLE)

    return ask(request, question, form, act, section="people")


def set_password(request: HttpRequest, username: str) -> HttpResponse:
    """Give somebody a new password."""
    access.require(actor(request), "set_password")
    person = accounts.get_user(username)
    question = Question(
        f"Set a password for {person.username}",
        f"Set {person.username}'s password",
        reverse(PEOPLE),
        consequences=(f"The old password ends, and whatever {person.username} is signed in to.",),
    )

    def act(given: Mapping[str, Any]) -> str:
        access.set_password(actor(request), username=username, password=given["password"])
        messages.success(request, f"{username} has a new password.")
        return reverse(PEOPLE)

    return ask(request, question, PasswordForm(request.POST or None), act, section="people")


def close_person(request: HttpRequest, username: str) -> HttpResponse:
    """End an account."""
    access.require(actor(request), "close_user")
    person = accounts.get_user(username)
    tokens = [one.name for one in accounts.tokens_of(person.username)]
    question = Question(
        f"Close the account of {person.username}",
        f"Close {person.username}",
        reverse(PEOPLE),
        consequences=(
            f"{person.username} is signed out everywhere and cannot sign in again. This cannot be undone.",
            f"{count(len(tokens), 'token')} that {person.username} issued {'ends' if len(tokens) == 1 else 'end'}: "
            f"{', '.join(tokens)}."
            if tokens
            else "No token ends with it.",
        ),
        is_dangerous=True,
    )

    def act(_: Mapping[str, Any]) -> str:
        access.close_user(actor(request), username=username)
        messages.success(request, f"The account of {username} is closed.")
        return reverse(PEOPLE)

    form = ReasonlessForm(request.POST if request.method == "POST" else None)
    return ask(request, question, form, act, section="people")


def _environments() -> list[str]:
    return [environment.name for environment in fleet.environments()]
