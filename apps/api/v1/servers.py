"""Servers: adding one asks it who it is."""

from typing import Any

from django.utils import timezone
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from apps.access.verbs import SEE_IN_SERVICE
from apps.api.described import described
from apps.api.doors import ApiView, asked, filters
from apps.api.idempotent import idempotent
from apps.api.shapes.common import ReasonShape
from apps.api.shapes.fleet import (
    DriftFilter,
    DriftShape,
    InServiceShape,
    KeptDriftShape,
    ObservedVersionShape,
    ServerAddition,
    ServerChange,
    ServerFilter,
    ServerShape,
)
from apps.api.shapes.memory import ServerMemoryShape
from apps.common.errors import IllegalTransition
from apps.common.names import BadName
from apps.deployments import selectors as deployments
from apps.deployments.errors import ServerMoving
from apps.deployments.services import retire_server
from apps.fleet import errors, selectors, services
from apps.fleet.ordering import BY_NAME
from apps.serving.errors import UnknownBackend


class ServerDetailShape(ServerShape):
    """A server with what it serves, and where that differs from what it should."""

    versions = ObservedVersionShape(many=True)
    drift = serializers.SerializerMethodField()

    def get_drift(self, row: Any) -> list[dict[str, Any]]:
        """Desired minus observed; empty when they agree."""
        return list(DriftShape(deployments.told_drift(row, now=timezone.now()), many=True).data)


class Servers(ApiView):
    """The fleet."""

    @described("List servers", gives=ServerShape, filters=ServerFilter, is_page=True)
    def get(self, request: Request) -> Response:
        """By name, each with what was last seen of it."""
        return self.page(selectors.servers(**filters(ServerFilter, request)), ServerShape, ordering=BY_NAME)

    @described(
        "Add a server",
        takes=ServerAddition,
        gives=ServerShape,
        status=202,
        errors=[
            BadName,
            errors.EnvironmentUnknown,
            errors.RepositoryUnknown,
            errors.RepositoryElsewhere,
            errors.NameTaken,
            errors.AddressTaken,
            errors.BadAddress,
            errors.ControlKeyIncomplete,
            UnknownBackend,
        ],
    )
    @idempotent()
    def post(self, request: Request) -> Response:
        """It is `checking` until a worker has asked it who it is; then `active`, or `refused` with a `finding`."""
        made = services.add_server(self.actor(), **asked(ServerAddition, request))
        return self.started(self.shape(ServerShape, made))


class Server(ApiView):
    """One server."""

    @described("Get a server", gives=ServerDetailShape, errors=[errors.ServerUnknown])
    def get(self, request: Request, name: str) -> Response:
        """With the versions in its index and the drift."""
        return Response(self.shape(ServerDetailShape, selectors.get_server(name)))

    @described(
        "Change a server",
        takes=ServerChange,
        gives=ServerShape,
        errors=[errors.ServerUnknown, errors.BadAddress, errors.ControlKeyIncomplete],
    )
    def patch(self, request: Request, name: str) -> Response:
        """Only the fields that are given. The gRPC address is the server itself and stays."""
        wanted = asked(ServerChange, request, is_partial=True)
        return Response(self.shape(ServerShape, services.update_server(self.actor(), name=name, **wanted)))


class ServerRecheck(ApiView):
    """Asking a server again who it is."""

    @described(
        "Check a server again",
        gives=ServerShape,
        status=202,
        errors=[errors.ServerUnknown, IllegalTransition],
    )
    @idempotent()
    def post(self, request: Request, name: str) -> Response:
        """After a refusal, or when it was changed."""
        return self.started(self.shape(ServerShape, services.recheck_server(self.actor(), name=name)))


class ServerReconcile(ApiView):
    """Looking at a server now and mending what can be mended."""

    @described(
        "Reconcile a server now",
        gives=ServerShape,
        status=202,
        errors=[errors.ServerUnknown, errors.ServerNotActive],
    )
    @idempotent()
    def post(self, request: Request, name: str) -> Response:
        """Pauses between tries, and self-healing that is off, do not count; a hold, a cordon and a rollout do."""
        return self.started(self.shape(ServerShape, services.ask_to_reconcile(self.actor(), name=name)))


class ServerInService(ApiView):
    """For load balancers."""

    looks = SEE_IN_SERVICE

    @described("Whether a server is in service", gives=InServiceShape, errors=[errors.ServerUnknown])
    def get(self, request: Request, name: str) -> Response:
        """200 while it serves everything its environment should have, else 503 with the reasons.

        Nobody is asked: this is what was seen last. A token of scope `in-service:read` opens this alone.
        """
        found = deployments.in_service(selectors.get_server(name), now=timezone.now())
        said = {
            "server": name,
            "in_service": found.is_in_service,
            "reasons": found.reasons,
            "seen_at": found.seen_at,
            "is_stale": found.is_stale,
        }
        return Response(
            self.shape(InServiceShape, said),
            status=status.HTTP_200_OK if found.is_in_service else status.HTTP_503_SERVICE_UNAVAILABLE,
        )


class ServerMemory(ApiView):
    """What loads and unloads did to a server's memory."""

    @described("A server's memory", gives=ServerMemoryShape, errors=[errors.ServerUnknown])
    def get(self, request: Request, name: str) -> Response:
        """As it was last read around loads and unloads since the server started. Nobody is asked; unknown is empty."""
        return Response(self.shape(ServerMemoryShape, deployments.server_memory(selectors.get_server(name))))


class Drift(ApiView):
    """Where servers differ from what is desired."""

    @described("List drift", gives=KeptDriftShape, filters=DriftFilter, is_page=True)
    def get(self, request: Request) -> Response:
        """What is open now, newest first; with `ended` what is over too. Models Conch has not placed are nobody's."""
        found = deployments.kept_drift(**filters(DriftFilter, request))
        return self.page(found, KeptDriftShape, ordering=["-since", "-pk"])


class _ServerChange(ApiView):
    """A change that needs a reason."""

    def change(self, request: Request, service: Any, name: str) -> Response:
        """Call the service with the reason; give the server as it is now."""
        changed = service(self.actor(), name=name, **asked(ReasonShape, request))
        return Response(self.shape(ServerShape, changed))


class ServerCordon(_ServerChange):
    """Leaving a server out of rollouts."""

    @described("Cordon a server", takes=ReasonShape, gives=ServerShape, errors=[errors.ServerUnknown])
    @idempotent()
    def post(self, request: Request, name: str) -> Response:
        """New rollouts leave it out; what it serves stays."""
        return self.change(request, services.cordon_server, name)


class ServerUncordon(_ServerChange):
    """Taking a server in again."""

    @described("Uncordon a server", takes=ReasonShape, gives=ServerShape, errors=[errors.ServerUnknown])
    @idempotent()
    def post(self, request: Request, name: str) -> Response:
        """New rollouts take it in again."""
        return self.change(request, services.uncordon_server, name)


class ServerRetire(_ServerChange):
    """Letting a server go."""

    @described(
        "Retire a server",
        takes=ReasonShape,
        gives=ServerShape,
        errors=[errors.ServerUnknown, IllegalTransition, ServerMoving],
    )
    @idempotent()
    def post(self, request: Request, name: str) -> Response:
        """For good; its name and history stay."""
        return self.change(request, retire_server, name)
