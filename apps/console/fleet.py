"""Fleet pages: what is live and where; servers, desired beside observed; environments."""

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from apps.console.door import Later, Part, live_page, page, unwell
from apps.console.ranges import board, chosen_range
from apps.console.shown import matrix
from apps.console.shown.environments import environment_line
from apps.console.shown.memory import shown_memory
from apps.console.shown.server_facts import facts_of
from apps.console.shown.servers import drift_line, server_line, server_page
from apps.deployments import selectors as deployments
from apps.fleet import selectors as fleet
from apps.metrics.catalogue import Page
from apps.registry import selectors as registry

if TYPE_CHECKING:
    from apps.fleet.models import Environment, Server
    from apps.registry.models import Model

ROWS = 50
CHANGES = 6
SERVER_ROWS = 80
DRIFT_ROWS = 20
SERVER_STATES = ("active", "checking", "refused", "retired")


def overview(request: HttpRequest) -> HttpResponse:
    """Rollouts that move, then models by servers; `environment` and `model` in the address show a part of them."""
    every = list(fleet.environments())
    asked = {"environment": request.GET.get("environment", ""), "model": request.GET.get("model", "").strip()}
    environments = [one for one in every if one.name == asked["environment"]] or every
    servers = fleet.servers_at_a_glance(environment=environments[0].name if len(environments) == 1 else "")
    found = registry.models().filter(name__icontains=asked["model"])
    models = Paginator(found, matrix.rows_on_page(len(servers))).get_page(request.GET.get("page"))
    return live_page(
        request,
        "fleet/overview.html",
        Later("matrix", lambda: _matrix(list(models), environments, servers)),
        Later("drift", _drift),
        section="fleet",
        models=models,
        asked=asked,
        environments=[one.name for one in every],
        has_filters=models.paginator.num_pages > 1 or any(asked.values()),
    )


def _matrix(models: "list[Model]", environments: "list[Environment]", servers: "list[fleet.Glance]") -> Part:
    now, moving = timezone.now(), deployments.moving_rollouts()
    shown = matrix.fleet(
        rows=deployments.fleet_rows(models, environments, servers),
        environments=environments,
        servers=servers,
        moving=moving,
        left=deployments.estimates(moving, now=now),
        # The end of a standby changes nothing for anybody.
        last=deployments.with_way_back(deployments.rollouts(active=False).exclude(kind="retire"))[:CHANGES],
        now=now,
    )
    return Part("matrix", "fleet/_matrix.html", shown, is_moving=bool(moving), ended=shown.ended, unwell=unwell())


def _drift() -> Part:
    rows = tuple(drift_line(row) for row in deployments.kept_drift()[: DRIFT_ROWS + 1])
    return Part("drift", "fleet/_drift.html", rows, is_moving=False)


def servers(request: HttpRequest) -> HttpResponse:
    """Every server that is not retired, or those in the state asked for."""
    now = timezone.now()
    environment, state = request.GET.get("environment", ""), request.GET.get("state", "")
    found = fleet.servers(environment=environment, state=state)
    if not state:
        found = found.exclude(state="retired")
    rows = Paginator(found, ROWS).get_page(request.GET.get("page"))
    lines = tuple(server_line(server, now) for server in rows)
    return live_page(
        request,
        "fleet/server_list.html",
        Part("servers", "fleet/_servers.html", lines, is_moving=any(line.is_moving for line in lines)),
        section="servers",
        rows=rows,
        environments=[one.name for one in fleet.environments()],
        states=SERVER_STATES,
        asked={"environment": environment, "state": state},
    )


def server(request: HttpRequest, name: str) -> HttpResponse:
    """Desired beside observed, with reasons; charts."""
    found = fleet.get_server(name)
    is_moving = found.state == "checking"
    most_rows = None if request.GET.get("rows") == "all" else SERVER_ROWS
    return live_page(
        request,
        "fleet/server_detail.html",
        Later("server", lambda: _server(found, most_rows=most_rows)),
        Later("memory", lambda: _memory(found)),
        Later("facts", lambda: Part("facts", "fleet/_server_facts.html", facts_of(found), is_moving=is_moving)),
        section="servers",
        board=board(Page.SERVER, request, server=name),
        server_query=urlencode({"server": name}),
        **chosen_range(request),
    )


def _server(found: "Server", *, most_rows: int | None) -> Part:
    now = timezone.now()
    shown = server_page(
        found,
        observed=fleet.observed(server=found.name),
        wanted=deployments.wanted_in(found.environment.name),
        drift=deployments.kept_drift(server=found.name)[:DRIFT_ROWS],
        service=deployments.in_service(found, now=now),
        now=now,
        most_rows=most_rows,
    )
    return Part("server", "fleet/_server.html", shown, is_moving=shown.line.is_moving, unwell=unwell())


def _memory(found: "Server") -> Part:
    return Part("memory", "fleet/_memory.html", shown_memory(deployments.server_memory(found)), is_moving=False)


def environments(request: HttpRequest) -> HttpResponse:
    """Environments with their policy, and repositories."""
    return page(
        request,
        "fleet/environment_list.html",
        section="environments",
        environments=[environment_line(one) for one in deployments.with_policies(fleet.environments())],
        repositories=fleet.repositories(),
    )
