"""Promoting, rolling back, unloading, and watching it happen."""

from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.described import described
from apps.api.doors import ApiView, asked, filters
from apps.api.idempotent import idempotent
from apps.api.shapes.common import DeadlineShape, ReasonShape
from apps.api.shapes.deployments import (
    PromotionRequest,
    RollbackRequest,
    RolloutDetailShape,
    RolloutFilter,
    RolloutShape,
    UnloadRequest,
)
from apps.api.shapes.plans import PlanShape
from apps.api.shapes.runs import RunFilter, RunShape
from apps.api.waiting import wait_until
from apps.deployments import errors, selectors, services
from apps.fleet.errors import EnvironmentUnknown
from apps.registry.errors import VersionUnknown


class Rollouts(ApiView):
    """Changes of desired state."""

    @described("List rollouts", gives=RolloutShape, filters=RolloutFilter, is_page=True)
    def get(self, request: Request) -> Response:
        """Newest first."""
        return self.page(selectors.rollouts(**filters(RolloutFilter, request)), RolloutShape, ordering=["-pk"])

    @described(
        "Promote a version",
        takes=PromotionRequest,
        gives=RolloutShape,
        status=202,
        errors=[
            EnvironmentUnknown,
            VersionUnknown,
            errors.VersionNotReady,
            errors.AlreadyActive,
            errors.RolloutActive,
            errors.PlacementChanged,
            errors.PlacementHeld,
            errors.VersionBanned,
            errors.InterfaceChanged,
            errors.MembersMissing,
            errors.NeededByEnsemble,
            errors.PreflightFailed,
            errors.PreflightWarnings,
            errors.NoServers,
            errors.ServersDown,
            errors.PromotionsFrozen,
            errors.NotProvenElsewhere,
        ],
    )
    @idempotent()
    def post(self, request: Request) -> Response:
        """Bring a version live on every server of an environment, wave by wave; `url` tells how far it is.

        Where the policy asks for an approval it waits as `unapproved` until somebody else approves.
        """
        rollout = services.promote(self.actor(), **asked(PromotionRequest, request))
        return self.started(self.shape(RolloutShape, rollout))


class RolloutPlan(ApiView):
    """A promotion before it is asked for."""

    @described(
        "Plan a promotion",
        takes=PromotionRequest,
        gives=PlanShape,
        errors=[EnvironmentUnknown, VersionUnknown],
    )
    def post(self, request: Request) -> Response:
        """The same body as a promotion, answered instead of done: per server, gates, approvals, and every obstacle."""
        return Response(
            self.shape(PlanShape, services.plan_promotion(self.actor(), **asked(PromotionRequest, request)))
        )


class Rollbacks(ApiView):
    """Going back."""

    @described(
        "Roll back",
        takes=RollbackRequest,
        gives=RolloutShape,
        status=202,
        errors=[
            errors.PlacementUnknown,
            VersionUnknown,
            errors.VersionNotReady,
            errors.AlreadyActive,
            errors.RolloutActive,
            errors.PlacementChanged,
            errors.VersionBanned,
            errors.NothingToRollBackTo,
            errors.NeverLive,
            errors.InterfaceChanged,
            errors.NeededByEnsemble,
            errors.NoServers,
            errors.ReasonMissing,
        ],
    )
    @idempotent()
    def post(self, request: Request) -> Response:
        """To what was live before, or to `to`: on all servers at once, hot where it is still loaded.

        Whatever moves there stops: a promotion turns round, all else is taken over from. The placement is held, and
        what was rolled back is banned there. `time_to_restore_s` is there once the last reachable server answers right.
        """
        rollout = services.roll_back(self.actor(), **asked(RollbackRequest, request))
        return self.started(self.shape(RolloutShape, rollout))


class Unloads(ApiView):
    """Taking a model off."""

    @described(
        "Unload a model",
        takes=UnloadRequest,
        gives=RolloutShape,
        status=202,
        errors=[
            errors.PlacementUnknown,
            errors.NothingPlaced,
            errors.NeededByEnsemble,
            errors.PlacementHeld,
            errors.RolloutActive,
            errors.PlacementChanged,
            errors.NoServers,
            errors.ReasonMissing,
        ],
    )
    @idempotent()
    def post(self, request: Request) -> Response:
        """Off every server of an environment."""
        rollout = services.unload(self.actor(), **asked(UnloadRequest, request))
        return self.started(self.shape(RolloutShape, rollout))


class Rollout(ApiView):
    """One change of desired state."""

    @described("Get a rollout", gives=RolloutDetailShape, filters=DeadlineShape, errors=[errors.RolloutUnknown])
    def get(self, request: Request, rollout_id: int) -> Response:
        """How far it is, and why it failed. With `wait`, when it has ended or after that many seconds.

        When many wait at once some are answered early: look at `has_ended`, and ask again. `runs_url` has every server.
        """
        wait_s = filters(DeadlineShape, request)["wait"]
        if wait_s:
            wait_until(lambda: selectors.has_ended(selectors.state_of(rollout_id)), wait_s=wait_s)
        return Response(self.shape(RolloutDetailShape, selectors.get_rollout(rollout_id)))


class Runs(ApiView):
    """What a rollout does on each server."""

    @described("List runs", gives=RunShape, filters=RunFilter, is_page=True, errors=[errors.RolloutUnknown])
    def get(self, request: Request, rollout_id: int) -> Response:
        """With their steps, in the order in which they were planned; what settles or puts back comes last."""
        rollout = selectors.get_rollout(rollout_id)
        return self.page(selectors.runs_of(rollout, **filters(RunFilter, request)), RunShape, ordering=["pk"])


class RolloutAbort(ApiView):
    """Stopping a rollout."""

    @described(
        "Abort a rollout",
        takes=ReasonShape,
        gives=RolloutShape,
        status=202,
        errors=[errors.RolloutUnknown, errors.RolloutNotAbortable, errors.ReasonMissing],
    )
    @idempotent()
    def post(self, request: Request, rollout_id: int) -> Response:
        """It puts back the servers it has already changed."""
        rollout = services.abort(self.actor(), rollout=rollout_id, **asked(ReasonShape, request))
        return self.started(self.shape(RolloutShape, rollout))
