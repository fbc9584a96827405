"""Placements, their warm-up schedules and probes."""

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.described import described
from apps.api.doors import ApiView, asked, filters
from apps.api.shapes.deployments import (
    PlacementShape,
    ProbeFilter,
    ProbeShape,
    TargetShape,
    WarmupSetting,
    WarmupShape,
)
from apps.api.shapes.history import MomentFilter, PlacementThenShape
from apps.deployments import errors, selectors, services
from apps.deployments.services.clock import TooOften


class PlacementDetailShape(PlacementShape):
    """A placement with where it can be rolled back to."""

    rollback_targets = serializers.SerializerMethodField()
    warmup_schedule = WarmupShape(allow_null=True)

    def get_rollback_targets(self, row: Any) -> list[dict[str, Any]]:
        """Earlier live versions; the first is where a rollback goes by itself."""
        return list(TargetShape(selectors.rollback_targets(row), many=True).data)


class Placements(ApiView):
    """Desired state."""

    @described("List placements", gives=PlacementShape, filters=MomentFilter, is_page=True)
    def get(self, request: Request) -> Response:
        """Which version should be live, and which kept hot, of each model in each environment: now, or then."""
        wanted = filters(MomentFilter, request)
        at = wanted.pop("at")
        if at is None:
            return self.page(selectors.placements(**wanted), PlacementShape, ordering=["pk"])
        return self.page(selectors.placements_at(at, **wanted), PlacementThenShape, ordering=["pk"])


class Placement(ApiView):
    """Desired state of one model in one environment."""

    @described("Get a placement", gives=PlacementDetailShape, errors=[errors.PlacementUnknown])
    def get(self, request: Request, environment: str, name: str) -> Response:
        """With the versions it can be rolled back to, and how quickly."""
        return Response(self.shape(PlacementDetailShape, selectors.get_placement(environment, name)))


class WarmupSchedule(ApiView):
    """Keeping a seldom-used model warm."""

    @described(
        "Set the warm-up schedule",
        takes=WarmupSetting,
        gives=WarmupShape,
        errors=[errors.PlacementUnknown, TooOften],
    )
    def put(self, request: Request, environment: str, name: str) -> Response:
        """Real requests to every server of the placement, every so many seconds."""
        wanted = asked(WarmupSetting, request)
        schedule = services.schedule_warmup(self.actor(), environment=environment, model=name, **wanted)
        return Response(self.shape(WarmupShape, schedule))


class Probes(ApiView):
    """Conch's own requests."""

    @described("List probes", gives=ProbeShape, filters=ProbeFilter, is_list=True, errors=[errors.PlacementUnknown])
    def get(self, request: Request) -> Response:
        """The last requests that Conch itself made to a placement's live versions, newest first."""
        wanted = filters(ProbeFilter, request)
        placement = selectors.get_placement(wanted["environment"], wanted["model"])
        return Response(self.shape(ProbeShape, selectors.probes(placement, limit=wanted["limit"]), many=True))
