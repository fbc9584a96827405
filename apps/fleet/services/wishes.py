"""What somebody asked for and the next look at a server answers: a row, so that no lost message loses it."""

from collections.abc import Iterable

from django.db import transaction
from django.utils import timezone

from apps.access.services import require
from apps.audit.services import record
from apps.common.actor import Actor
from apps.common.dispatch import wake
from apps.fleet import selectors
from apps.fleet.errors import ServerNotActive
from apps.fleet.models import Server
from apps.fleet.states import ServerState


@transaction.atomic
def ask_to_reconcile(actor: Actor, *, name: str) -> Server:
    """Look at a server now, and mend what can be mended: pauses and switched-off self-healing do not count."""
    server = selectors.get_server(name)
    require(actor, "reconcile_server", server.environment.name)
    if server.state != ServerState.ACTIVE:
        raise ServerNotActive(f"{name} is {server.state}: there is nothing to reconcile", state=server.state)
    Server.objects.filter(pk=server.pk).update(reconcile_asked_at=timezone.now())
    record(actor, "reconcile_server", subject_kind="server", subject=name, environment=server.environment.name)
    wake("conch.observe_servers", server_ids=[server.pk])
    return server


def settle_wishes(servers: Iterable[Server]) -> None:
    """These were looked at and what could be begun was; a newer wish stays."""
    for server in servers:
        if server.reconcile_asked_at is not None:
            mine = Server.objects.filter(pk=server.pk, reconcile_asked_at=server.reconcile_asked_at)
            mine.update(reconcile_asked_at=None)
