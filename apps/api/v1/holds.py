"""Holds on placements, and bans of versions that were rolled back."""

from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.described import described
from apps.api.doors import ApiView, asked, filters
from apps.api.idempotent import idempotent
from apps.api.shapes.bans import BanFilter, BanShape
from apps.api.shapes.common import ReasonShape
from apps.api.shapes.deployments import PlacementShape
from apps.deployments import errors, selectors, services


class PlacementHold(ApiView):
    """Holding what is live."""

    @described(
        "Hold a placement",
        takes=ReasonShape,
        gives=PlacementShape,
        errors=[errors.PlacementUnknown, errors.ReasonMissing, errors.RolloutActive],
    )
    @idempotent()
    def post(self, request: Request, environment: str, name: str) -> Response:
        """Nothing but a rollback moves it until somebody lets go; a promotion is refused with `placement_held`."""
        placement = services.hold(self.actor(), environment=environment, model=name, **asked(ReasonShape, request))
        return Response(self.shape(PlacementShape, placement))


class PlacementUnhold(ApiView):
    """Letting go."""

    @described(
        "Let go of a placement",
        takes=ReasonShape,
        gives=PlacementShape,
        errors=[errors.PlacementUnknown, errors.PlacementNotHeld, errors.ReasonMissing],
    )
    @idempotent()
    def post(self, request: Request, environment: str, name: str) -> Response:
        """Promotions and healing go on as before the hold."""
        placement = services.unhold(self.actor(), environment=environment, model=name, **asked(ReasonShape, request))
        return Response(self.shape(PlacementShape, placement))


class Bans(ApiView):
    """What must not go live."""

    @described("List bans", gives=BanShape, filters=BanFilter, is_page=True)
    def get(self, request: Request) -> Response:
        """Newest first, with who, why and since when; lifted ones stay in the list."""
        return self.page(selectors.bans(**filters(BanFilter, request)), BanShape, ordering=["-pk"])


class Ban(ApiView):
    """One ban."""

    @described("Get a ban", gives=BanShape, errors=[errors.BanUnknown])
    def get(self, request: Request, ban_id: int) -> Response:
        """By its number, as `version_banned` names it."""
        return Response(self.shape(BanShape, selectors.get_ban(ban_id)))


class BanLift(ApiView):
    """Lifting a ban."""

    @described(
        "Lift a ban",
        takes=ReasonShape,
        gives=BanShape,
        errors=[errors.BanUnknown, errors.BanLifted, errors.ReasonMissing],
    )
    @idempotent()
    def post(self, request: Request, ban_id: int) -> Response:
        """The version may be promoted there again."""
        return Response(
            self.shape(BanShape, services.lift_ban(self.actor(), ban=ban_id, **asked(ReasonShape, request)))
        )
