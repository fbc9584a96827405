"""Introducing a server: a worker asks it who it is, and the answer decides."""

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction

from apps.access.services import require
from apps.audit.services import record
from apps.common.actor import CLOCK, Actor
from apps.common.dispatch import wake
from apps.common.due import is_free
from apps.common.errors import ControlPlaneError
from apps.common.keeping import error_document
from apps.common.transitions import move, try_move
from apps.fleet import connecting, probe, selectors
from apps.fleet.models import Server
from apps.fleet.repositories import open_home
from apps.fleet.services.observation import observe
from apps.fleet.services.servers import INTRODUCE
from apps.fleet.states import ServerState

OBSERVE = "conch.observe_servers"
# A check is a handful of calls with short deadlines and the marker's patience; three leases cover it.
CHECK_LEASES = 3


def introduce(server_id: int, *, now: datetime) -> None:
    """Ask the server who it is: it becomes `active`, or `refused` with what is wrong as its finding.

    Safe to deliver twice: one worker at a time holds the lease, and only a `checking` server is asked.
    """
    server = _claim(server_id, now=now)
    if server is None:
        return
    state, finding = _ask(server)
    with transaction.atomic():
        if not try_move(server, state, finding=finding, lease_until=None):
            return  # retired meanwhile
        verb = "server_active" if state == ServerState.ACTIVE else "server_refused"
        record(
            CLOCK,
            verb,
            subject_kind="server",
            subject=server.name,
            environment=server.environment.name,
            reason=str(finding.get("message", "")),
            code=finding.get("code", ""),
        )
    if state == ServerState.ACTIVE:
        observe([server.pk], now=now)


def _claim(server_id: int, *, now: datetime) -> Server | None:
    until = now + timedelta(seconds=settings.CONCH["lease_s"] * CHECK_LEASES)
    if not Server.objects.filter(is_free(now), pk=server_id, state=ServerState.CHECKING).update(lease_until=until):
        return None
    return selectors.servers().get(pk=server_id)


def _ask(server: Server) -> tuple[ServerState, dict[str, Any]]:
    try:
        backend = connecting.connect(server)
        found = probe.ask(backend, server=server.name, home=open_home(server.repository))
    except ControlPlaneError as error:
        return ServerState.REFUSED, error_document(error)
    return ServerState.ACTIVE, found.document()


@transaction.atomic
def recheck_server(actor: Actor, *, name: str) -> Server:
    """Ask a refused server again; an active one is observed now."""
    server = selectors.get_server(name)
    require(actor, "recheck_server", server.environment.name)
    record(actor, "recheck_server", subject_kind="server", subject=name, environment=server.environment.name)
    if server.state == ServerState.ACTIVE:
        wake(OBSERVE, server_ids=[server.pk])
        return server
    if server.state != ServerState.CHECKING:
        move(server, ServerState.CHECKING, finding={}, lease_until=None)
    wake(INTRODUCE, server_id=server.pk)
    return server


def sweep_servers(now: datetime) -> list[int]:
    """Servers whose check was never begun, or whose worker went silent."""
    found = Server.objects.filter(is_free(now), state=ServerState.CHECKING).order_by("pk")
    return list(found.values_list("pk", flat=True))
