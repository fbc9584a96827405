"""What an environment sets otherwise in a model's configuration."""

from typing import Any

from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from apps.access.services import require
from apps.api.described import described
from apps.api.doors import ApiView, asked
from apps.api.idempotent import idempotent
from apps.api.shapes.common import Shape
from apps.api.shapes.deployments import RolloutShape
from apps.api.shapes.overlays import EffectShape, OverlayRequest, OverlayShape, OverlayTrial
from apps.deployments import errors, selectors, services
from apps.fleet.errors import EnvironmentUnknown, ServerUnknown
from apps.registry.errors import ModelUnknown
from apps.serving.errors import OverlayInvalid

CHANGING = [
    OverlayInvalid,
    EnvironmentUnknown,
    ModelUnknown,
    ServerUnknown,
    errors.OverlayUnknown,
    errors.OverlayUnchanged,
    errors.PlacementHeld,
    errors.PromotionsFrozen,
    errors.ReasonMissing,
    errors.RolloutActive,
    errors.NoServers,
    errors.ServersDown,
    errors.PlacementChanged,
]


class OverlaySettingShape(Shape):
    """The overlay that was kept, and the rollout that brings it; null where nothing is live yet."""

    overlay = OverlayShape()
    rollout = RolloutShape(allow_null=True)
    url = serializers.SerializerMethodField(help_text="The rollout's, where there is one.")

    def get_url(self, row: Any) -> str:
        """Where to look."""
        return str(RolloutShape(row.rollout, context=self.context).data["url"]) if row.rollout else ""


class OverlayStateShape(Shape):
    """The overlay in effect and what comes of it; null where there is none, or nothing is live."""

    current = OverlayShape(source="overlay", allow_null=True)
    effect = serializers.SerializerMethodField()

    def get_effect(self, row: Any) -> dict[str, Any] | None:
        """The effective configuration of the live version."""
        found = selectors.effect(row, row.overlay.document if row.overlay else {})
        return None if found is None else dict(EffectShape(found).data)


class Overlay(ApiView):
    """The overlay of one placement."""

    @described("Get the overlay", gives=OverlayStateShape, errors=[errors.PlacementUnknown])
    def get(self, request: Request, environment: str, name: str) -> Response:
        """What is in effect, and the configuration that the live version runs under because of it."""
        return Response(self.shape(OverlayStateShape, selectors.get_placement(environment, name)))


class Overlays(ApiView):
    """Every overlay a placement ever had."""

    @described("List overlays", gives=OverlayShape, is_page=True, errors=[errors.PlacementUnknown])
    def get(self, request: Request, environment: str, name: str) -> Response:
        """Newest first."""
        found = selectors.overlay_history(selectors.get_placement(environment, name))
        return self.page(found, OverlayShape, ordering=["-number"])

    @described("Set an overlay", takes=OverlayRequest, gives=OverlaySettingShape, status=202, errors=CHANGING)
    @idempotent()
    def post(self, request: Request, environment: str, name: str) -> Response:
        """Rolled out like any change, without a new version; instances alone change in place, nothing restarts."""
        wanted = asked(OverlayRequest, request)
        common: dict[str, Any] = {"environment": environment, "model": name, "reason": wanted["reason"]}
        common |= {field: wanted[field] for field in ("skip", "confirm") if field in wanted}
        if "restore" in wanted:
            setting = services.restore_overlay(self.actor(), number=wanted["restore"], **common)
        else:
            setting = services.set_overlay(self.actor(), document=wanted["document"], **common)
        document = self.shape(OverlaySettingShape, setting)
        headers = {"Location": document["url"]} if document["url"] else {}
        return Response(document, status=status.HTTP_202_ACCEPTED, headers=headers)


class OverlayTrials(ApiView):
    """Looking before changing."""

    @described(
        "Try an overlay",
        takes=OverlayTrial,
        gives=EffectShape,
        errors=[errors.PlacementUnknown, errors.NothingPlaced, OverlayInvalid],
    )
    def post(self, request: Request, environment: str, name: str) -> Response:
        """What it would make of the live version's configuration, and whether anything restarts. Changes nothing."""
        require(self.actor(), "view")
        placement = selectors.get_placement(environment, name)
        found = selectors.effect(placement, asked(OverlayTrial, request)["document"])
        if found is None:
            raise errors.NothingPlaced(f"no version of {name} is live in {environment}")
        return Response(self.shape(EffectShape, found))
