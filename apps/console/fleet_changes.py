"""Changing the fleet: servers, environments, repositories."""

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from apps.console.door import Question, actor, ask
from apps.console.forms.access import ReasonlessForm
from apps.console.forms.fleet import (
    EnvironmentForm,
    OptionalReasonForm,
    RepositoryForm,
    ServerChangeForm,
    ServerForm,
)
from apps.console.reasons import ask_why
from apps.deployments import selectors as deployments
from apps.deployments.services import retire_server as retire
from apps.fleet import selectors as fleet
from apps.fleet import services

ENVIRONMENTS, SERVERS = "console:environments", "console:servers"


def add_server(request: HttpRequest) -> HttpResponse:
    """Name a server; its page then shows live what it said."""
    environments = [one.name for one in fleet.environments()]
    repositories = [one.name for one in fleet.repositories()]
    form = ServerForm(request.POST or None, environments=environments, repositories=repositories)
    question = Question(
        "Add a server",
        "Add server",
        reverse(SERVERS),
        intro="Conch asks it who it is and says what it found. Nothing on the server is changed.",
    )

    def act(given: Mapping[str, Any]) -> str:
        server = services.add_server(actor(request), **given)
        return reverse("console:server", args=[server.name])

    return ask(
        request, question, form, act, section="servers", template="fleet/server_form.html", has_home=bool(repositories)
    )


def change_server(request: HttpRequest, name: str) -> HttpResponse:
    """Change a server's other addresses, labels and control key."""
    server = fleet.get_server(name)
    labels = " ".join(f"{key}={value}" for key, value in server.labels.items())
    initial = {"http": server.http, "metrics": server.metrics, "labels": labels, "control_key": server.control_key}
    form = ServerChangeForm(request.POST or None, initial=initial)
    question = Question(
        f"Change {name}",
        "Save",
        reverse("console:server", args=[name]),
        consequences=(
            f"Its gRPC address, {server.grpc}, is the server itself and stays. If it is wrong, retire {name} and add "
            "the server under another name: history tells of this one.",
        ),
    )

    def act(given: Mapping[str, Any]) -> str:
        changes = dict(given)
        if not changes["control_value"] and changes["control_key"] == server.control_key:
            del changes["control_key"], changes["control_value"]
        services.update_server(actor(request), name=name, **changes)
        return _back(request, name, f"{name} is changed.")

    return ask(request, question, form, act, section="servers")


def recheck_server(request: HttpRequest, name: str) -> HttpResponse:
    """Ask the server again."""
    server = fleet.get_server(name)
    question = Question(
        f"Ask {name} again",
        "Ask again",
        reverse("console:server", args=[name]),
        consequences=("Nothing on the server is changed.",),
    )

    def act(_: Mapping[str, Any]) -> str:
        services.recheck_server(actor(request), name=server.name)
        return _back(request, name, f"{name} is being asked.")

    return ask(request, question, _pressed(request), act, section="servers")


def reconcile_server(request: HttpRequest, name: str) -> HttpResponse:
    """Look at a server now and mend what can be mended."""
    fleet.get_server(name)
    astray = deployments.kept_drift(server=name).count()
    question = Question(
        f"Reconcile {name} now",
        "Reconcile now",
        reverse("console:server", args=[name]),
        consequences=(
            f"Conch asks {name} what it serves and loads what is missing: {astray} differences were seen so far.",
            "It does not wait for the next try. A rollout, a hold and a cordon still say no.",
        ),
    )

    def act(_: Mapping[str, Any]) -> str:
        services.ask_to_reconcile(actor(request), name=name)
        return _back(request, name, f"{name} is being looked at.")

    return ask(request, question, _pressed(request), act, section="servers")


def cordon_server(request: HttpRequest, name: str) -> HttpResponse:
    """Keep new rollouts away from a server."""
    server = fleet.get_server(name)
    question = Question(
        f"Cordon {name}",
        f"Cordon {name}",
        reverse("console:server", args=[name]),
        consequences=(
            f"New rollouts in {server.environment.name} leave {name} out. It goes on serving what it serves.",
        ),
    )

    def do(reason: str) -> None:
        services.cordon_server(actor(request), name=name, reason=reason)

    return ask_why(request, question, do, section="servers", told=f"{name} is cordoned.")


def uncordon_server(request: HttpRequest, name: str) -> HttpResponse:
    """Let rollouts reach a server again."""
    fleet.get_server(name)
    question = Question(
        f"Uncordon {name}",
        f"Uncordon {name}",
        reverse("console:server", args=[name]),
        consequences=(
            "New rollouts reach it again. What was promoted meanwhile is loaded, where the environment heals itself.",
        ),
    )

    def act(given: Mapping[str, Any]) -> str:
        services.uncordon_server(actor(request), name=name, reason=given["reason"])
        return _back(request, name, f"{name} takes rollouts again.")

    form = OptionalReasonForm(request.POST if request.method == "POST" else None)
    return ask(request, question, form, act, section="servers")


def retire_server(request: HttpRequest, name: str) -> HttpResponse:
    """Take a server out of the fleet."""
    server = fleet.get_server(name)
    wanted = deployments.placements(environment=server.environment.name).filter(active__isnull=False).count()
    question = Question(
        f"Retire {name}",
        f"Retire {name} for good",
        reverse("console:server", args=[name]),
        consequences=(
            f"Conch no longer watches or changes {name}. It serves on until you stop it.",
            f"{wanted} models of {server.environment.name} are no longer expected on it. This cannot be undone.",
        ),
        is_dangerous=True,
    )

    def do(reason: str) -> None:
        retire(actor(request), name=name, reason=reason)

    return ask_why(request, question, do, section="servers", told=f"{name} is retired.")


def add_environment(request: HttpRequest) -> HttpResponse:
    """Add an environment; it begins with the default policy."""
    form = EnvironmentForm(request.POST or None)
    question = Question("Add an environment", "Add environment", reverse(ENVIRONMENTS))

    def act(given: Mapping[str, Any]) -> str:
        services.add_environment(actor(request), name=given["name"], rank=given["rank"])
        return reverse(ENVIRONMENTS)

    return ask(request, question, form, act, section="environments")


def change_environment(request: HttpRequest, name: str) -> HttpResponse:
    """Change an environment's rank."""
    environment = fleet.get_environment(name)
    form = EnvironmentForm(request.POST or None, is_new=False, initial={"rank": environment.rank})
    question = Question(f"Change {name}", "Save", reverse(ENVIRONMENTS))

    def act(given: Mapping[str, Any]) -> str:
        services.update_environment(actor(request), name=name, rank=given["rank"])
        return reverse(ENVIRONMENTS)

    return ask(request, question, form, act, section="environments")


def add_repository(request: HttpRequest) -> HttpResponse:
    """Add a place that servers take their models from."""
    form = RepositoryForm(request.POST or None, environments=[one.name for one in fleet.environments()])
    question = Question("Add a repository", "Add repository", reverse(ENVIRONMENTS))

    def act(given: Mapping[str, Any]) -> str:
        services.add_repository(actor(request), **given)
        return reverse(ENVIRONMENTS)

    return ask(request, question, form, act, section="environments")


def _pressed(request: HttpRequest) -> ReasonlessForm:
    return ReasonlessForm(request.POST if request.method == "POST" else None)


def _back(request: HttpRequest, name: str, words: str) -> str:
    messages.success(request, words)
    return reverse("console:server", args=[name])
