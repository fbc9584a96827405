"""Taking a server out for good: not while a rollout is changing it."""

from django.db import transaction
from django.utils import timezone

from apps.access.services import require
from apps.common.actor import Actor
from apps.deployments.errors import ServerMoving
from apps.deployments.models import Run
from apps.deployments.services.drift import end_drift
from apps.deployments.states import ACTIVE_RUN
from apps.fleet import selectors as fleet
from apps.fleet import services
from apps.fleet.models import Server


def retire_server(actor: Actor, *, name: str, reason: str) -> Server:
    """Retire a server, unless a rollout needs it: its address and key are forgotten with it."""
    server = fleet.get_server(name)
    require(actor, "retire_server", server.environment.name)
    with transaction.atomic():
        # A run that is just being made holds its server's key: this waits for it, and then sees it.
        Server.objects.select_for_update().get(pk=server.pk)
        _refuse_moving(server)
        retired = services.retire_server(actor, name=name, reason=reason)
        end_drift(retired, now=timezone.now())
    return retired


def _refuse_moving(server: Server) -> None:
    run = Run.objects.filter(server=server, state__in=ACTIVE_RUN).select_related("rollout__placement").first()
    if run is not None:
        raise ServerMoving(
            f"{server.name} is being changed by {run.rollout} of {run.rollout.placement}", rollout=run.rollout_id
        )
