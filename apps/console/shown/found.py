"""What a search found, as people see it. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from apps.common.text import printable
from apps.console.shown.links import link

if TYPE_CHECKING:
    from apps.deployments.models import Rollout
    from apps.fleet.models import Environment, Server
    from apps.registry.models import Model, Version

ABOUT_CHARS = 90


@dataclass(frozen=True, slots=True)
class Found:
    """One thing: its name, what else helps to tell it, and its page."""

    name: str
    about: str
    url: str


@dataclass(frozen=True, slots=True)
class Group:
    """Things of one kind."""

    title: str
    things: tuple[Found, ...]


def groups(
    *,
    models: Iterable["Model"],
    versions: Iterable["Version"],
    servers: Iterable["Server"],
    environments: Iterable["Environment"],
    rollouts: Iterable["Rollout"],
) -> tuple[Group, ...]:
    """By kind; kinds of which nothing was found are left out."""
    found = {
        "Models": [_model(one) for one in models],
        "Servers": [_server(one) for one in servers],
        "Versions": [_version(one) for one in versions],
        "Rollouts": [_rollout(one) for one in rollouts],
        "Environments": [Found(one.name, "", f"{link('fleet')}?environment={one.name}") for one in environments],
    }
    return tuple(Group(title, tuple(things)) for title, things in found.items() if things)


def exactly(found: Iterable[Group], text: str) -> str:
    """The page of the one thing that is called `text`; empty when none is, or more than one."""
    same = [thing.url for group in found for thing in group.things if thing.name.lower() == text.lower()]
    return same[0] if len(same) == 1 else ""


def _model(model: "Model") -> Found:
    return Found(model.name, printable(model.owner, limit=ABOUT_CHARS), link("model", model.name))


def _server(server: "Server") -> Found:
    return Found(server.name, f"{server.environment.name}, {server.grpc}", link("server", server.name))


def _version(version: "Version") -> Found:
    name = f"{version.model.name} {version.number}"
    about = f"{version.state}, sha256 {version.digest[:12]}"
    if version.git_commit:
        about += f", commit {printable(version.git_commit, limit=12)}"
    return Found(name, about, link("version", version.model.name, version.number))


def _rollout(rollout: "Rollout") -> Found:
    place = rollout.placement
    about = f"{rollout.kind} of {place.model.name} in {place.environment.name}: {rollout.state}"
    return Found(f"rollout {rollout.pk}", about, link("rollout", rollout.pk))
