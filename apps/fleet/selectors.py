"""Reading environments, repositories, servers and what was seen on them."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Q, QuerySet

from apps.fleet.errors import EnvironmentUnknown, RepositoryUnknown, ServerUnknown
from apps.fleet.models import Environment, ObservedVersion, Part, Repository, Server
from apps.fleet.ordering import BY_ENVIRONMENT
from apps.fleet.restarts import key_of

# What the worker's self-check looks after, and how old its word may be.
PARTS = ("artifacts", "beat", "broker", "database", "prometheus", "worker")
STALE_AFTER = timedelta(seconds=60)


def environments() -> QuerySet[Environment]:
    """Every environment, left to right."""
    return Environment.objects.order_by("rank", "name")


def get_environment(name: str) -> Environment:
    """The environment of that name, or EnvironmentUnknown."""
    found = Environment.objects.filter(name=name).first()
    if found is None:
        raise EnvironmentUnknown(f"there is no environment {name[:140]!r}", field="environment")
    return found


def repositories(*, environment: str = "") -> QuerySet[Repository]:
    """Repositories with their environment, by name."""
    found = Repository.objects.select_related("environment").order_by("name")
    return found.filter(environment__name=environment) if environment else found


def get_repository(name: str) -> Repository:
    """The repository of that name, or RepositoryUnknown."""
    found = repositories().filter(name=name).first()
    if found is None:
        raise RepositoryUnknown(f"there is no repository {name[:140]!r}", field="repository")
    return found


def servers(*, environment: str = "", state: str = "") -> QuerySet[Server]:
    """Servers with environment, repository and observation, by environment and name."""
    found = Server.objects.select_related("environment", "repository", "observation")
    if environment:
        found = found.filter(environment__name=environment)
    if state:
        found = found.filter(state=state)
    return found.order_by(*BY_ENVIRONMENT)


def find_servers(text: str) -> QuerySet[Server]:
    """Servers that are not retired, by a part of their name or address."""
    wanted = Q(name__icontains=text) | Q(grpc__icontains=text) | Q(http__icontains=text)
    return servers().exclude(state="retired").filter(wanted)


@dataclass(frozen=True, slots=True)
class Glance:
    """No more of a server than a cell of the fleet page needs: there may be a thousand of them."""

    pk: int
    name: str
    environment_id: int
    is_reachable: bool
    seen_at: datetime | None


def servers_at_a_glance(*, environment: str = "") -> list[Glance]:
    """Active servers, by environment and name; one that nobody has asked yet is not reachable."""
    found = servers(environment=environment, state="active")
    rows = found.values_list("pk", "name", "environment_id", "observation__is_reachable", "observation__seen_at")
    return [Glance(pk, name, home, bool(is_reachable), seen_at) for pk, name, home, is_reachable, seen_at in rows]


def servers_to_look_at(*, now: datetime, unseen_for: timedelta) -> list[int]:
    """Keys of the active servers, without those that were asked less than `unseen_for` ago."""
    # One asked in the future was asked by a clock that has been set back since.
    lately = Q(observation__at__gt=now - unseen_for, observation__at__lte=now)
    active = Server.objects.filter(state="active").exclude(lately)
    return list(active.order_by("pk").values_list("pk", flat=True))


def servers_to_ask(server_ids: Collection[int]) -> QuerySet[Server]:
    """Those of the servers that are active, with what a look at them is held against."""
    return servers(state="active").filter(pk__in=server_ids).defer("finding")


def servers_to_judge(server_ids: Collection[int]) -> QuerySet[Server]:
    """Those of the servers that are active, without what they said of themselves: it is asked for every few seconds."""
    said = ("counters", "asked", "extensions")
    return servers_to_ask(server_ids).defer("finding", "labels", *(f"observation__{name}" for name in said))


def servers_for_rollouts(environment: str) -> QuerySet[Server]:
    """The servers of an environment that rollouts reach: active, and not cordoned."""
    return servers(environment=environment, state="active").filter(cordoned_at=None)


def is_reachable(server: Server) -> bool:
    """Whether the server answered when it was last observed."""
    observation = getattr(server, "observation", None)
    return observation is not None and observation.is_reachable


def get_server(name: str) -> Server:
    """The server of that name, or ServerUnknown."""
    found = servers().filter(name=name).first()
    if found is None:
        raise ServerUnknown(f"there is no server {name[:140]!r}", field="server")
    return found


def ready_versions(servers: Collection[Server], *, model: str) -> QuerySet[ObservedVersion, tuple[str, int]]:
    """What was last seen READY of a model on these servers: the server's name and the version."""
    found = ObservedVersion.objects.filter(server__in=servers, model=model, state="READY")
    return found.values_list("server__name", "version")


def loaded_under(server: Server, *, model: str, version: int) -> str:
    """The digest of the overlay under which a version was loaded that was last seen READY; empty: not known."""
    found = ObservedVersion.objects.filter(server=server, model=model, version=version, state="READY")
    return found.values_list("loaded_under", flat=True).first() or ""


def asked_at(server: Server, *, model: str, version: int) -> datetime | None:
    """When a version was last seen to have answered more than before, by the server's observation; None: not since."""
    observation = getattr(server, "observation", None)
    told = observation.asked.get(key_of(model, version)) if observation is not None else None
    return datetime.fromisoformat(told) if told else None


def observed(
    *, model: str = "", environment: str = "", server: str = "", server_ids: list[int] | None = None
) -> QuerySet[ObservedVersion]:
    """Versions as last seen, with their server, by server, model and number."""
    found = ObservedVersion.objects.select_related("server", "server__environment")
    wanted = {"model": model, "server__environment__name": environment, "server__name": server}
    found = found.filter(**{name: value for name, value in wanted.items() if value})
    if server_ids is not None:
        found = found.filter(server_id__in=server_ids)
    return found.order_by("server__sorts_as", "server__name", "model", "version")


def health(*, now: datetime) -> list[Part]:
    """Every one of Conch's own parts; one that was not heard of lately is not well, whatever it said last."""
    known = {part.name: part for part in Part.objects.all()}
    unheard = {name: Part(name=name, is_well=False, message="nothing has been heard of it yet") for name in PARTS}
    return [_heard(known[name], now=now) if name in known else unheard[name] for name in PARTS]


def _heard(part: Part, *, now: datetime) -> Part:
    if now - part.at > STALE_AFTER:
        part.is_well, part.message = False, f"nothing has been heard of it since {part.at:%Y-%m-%d %H:%M:%S} UTC"
    return part
