"""Releases: several models live together, or not at all."""

from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.described import described
from apps.api.doors import ApiView, asked, filters
from apps.api.idempotent import idempotent
from apps.api.shapes.common import DeadlineShape, ReasonShape
from apps.api.shapes.plans import ReleasePlanShape
from apps.api.shapes.releases import ReleaseBackRequest, ReleaseFilter, ReleaseRequest, ReleaseShape
from apps.api.waiting import wait_until
from apps.deployments import errors, selectors, services
from apps.fleet.errors import EnvironmentUnknown
from apps.registry.errors import VersionUnknown


class Releases(ApiView):
    """Several models as one."""

    @described("List releases", gives=ReleaseShape, filters=ReleaseFilter, is_page=True)
    def get(self, request: Request) -> Response:
        """Newest first, each with its rollouts."""
        return self.page(selectors.releases(**filters(ReleaseFilter, request)), ReleaseShape, ordering=["-pk"])

    @described(
        "Begin a release",
        takes=ReleaseRequest,
        gives=ReleaseShape,
        status=202,
        errors=[
            EnvironmentUnknown,
            VersionUnknown,
            errors.ReleaseInvalid,
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
        """Publish all, try all aside on every server, then switch all; where one fails, all go back.

        One refusal refuses the whole. `url` tells how far it is.
        """
        release = services.begin_release(self.actor(), **asked(ReleaseRequest, request))
        return self.started(self.shape(ReleaseShape, release))


class ReleasePlan(ApiView):
    """A release before it is asked for."""

    @described(
        "Plan a release",
        takes=ReleaseRequest,
        gives=ReleasePlanShape,
        errors=[EnvironmentUnknown, VersionUnknown, errors.ReleaseInvalid],
    )
    def post(self, request: Request) -> Response:
        """The same body as a release, answered instead of done: each model's plan with every obstacle."""
        return Response(
            self.shape(ReleasePlanShape, services.plan_release(self.actor(), **asked(ReleaseRequest, request)))
        )


class Release(ApiView):
    """One release."""

    @described("Get a release", gives=ReleaseShape, filters=DeadlineShape, errors=[errors.ReleaseUnknown])
    def get(self, request: Request, release_id: int) -> Response:
        """With its rollouts. With `wait`, when all have ended or after that many seconds, whichever is first."""
        wait_s = filters(DeadlineShape, request)["wait"]
        if wait_s:
            wait_until(lambda: selectors.has_release_ended(release_id), wait_s=wait_s)
        return Response(self.shape(ReleaseShape, selectors.get_release(release_id)))


class ReleaseAbort(ApiView):
    """Stopping a release."""

    @described(
        "Abort a release",
        takes=ReasonShape,
        gives=ReleaseShape,
        status=202,
        errors=[errors.ReleaseUnknown, errors.ReleaseDecided, errors.RolloutNotAbortable, errors.ReasonMissing],
    )
    @idempotent()
    def post(self, request: Request, release_id: int) -> Response:
        """All of it goes back; nothing is held or banned."""
        release = services.abort_release(self.actor(), release=release_id, **asked(ReasonShape, request))
        return self.started(self.shape(ReleaseShape, release))


class ReleaseApproval(ApiView):
    """Letting a release begin."""

    @described(
        "Approve a release",
        takes=ReasonShape,
        gives=ReleaseShape,
        status=202,
        errors=[
            errors.ReleaseUnknown,
            errors.ReleaseStandsElsewhere,
            errors.ApprovalByAuthor,
            errors.PromotionsFrozen,
            errors.NotProvenElsewhere,
            errors.ReasonMissing,
        ],
    )
    @idempotent()
    def post(self, request: Request, release_id: int) -> Response:
        """All of its rollouts that wait for an approval, or none of them."""
        release = services.approve_release(self.actor(), release=release_id, **asked(ReasonShape, request))
        return self.started(self.shape(ReleaseShape, release))


class ReleasePause(ApiView):
    """Holding a release still."""

    @described(
        "Pause a release",
        takes=ReasonShape,
        gives=ReleaseShape,
        status=202,
        errors=[errors.ReleaseUnknown, errors.ReleaseStandsElsewhere, errors.ReasonMissing],
    )
    @idempotent()
    def post(self, request: Request, release_id: int) -> Response:
        """Nothing more begins in any of its rollouts; what has begun on a server comes to its end."""
        release = services.pause_release(self.actor(), release=release_id, **asked(ReasonShape, request))
        return self.started(self.shape(ReleaseShape, release))


class ReleaseResumption(ApiView):
    """Going on with a release."""

    @described(
        "Resume a release",
        takes=ReasonShape,
        gives=ReleaseShape,
        status=202,
        errors=[
            errors.ReleaseUnknown,
            errors.ReleaseStandsElsewhere,
            errors.PromotionsFrozen,
            errors.ReasonMissing,
        ],
    )
    @idempotent()
    def post(self, request: Request, release_id: int) -> Response:
        """All of its rollouts that are paused."""
        release = services.resume_release(self.actor(), release=release_id, **asked(ReasonShape, request))
        return self.started(self.shape(ReleaseShape, release))


class ReleaseRollback(ApiView):
    """Going back together."""

    @described(
        "Roll back a release",
        takes=ReleaseBackRequest,
        gives=ReleaseShape,
        status=202,
        errors=[
            errors.ReleaseUnknown,
            errors.ReleaseDecided,
            errors.ReleaseNotLive,
            errors.NeverLive,
            errors.VersionBanned,
            errors.RolloutActive,
            errors.NoServers,
            errors.ReasonMissing,
        ],
    )
    @idempotent()
    def post(self, request: Request, release_id: int) -> Response:
        """While it moves it turns round; afterwards every model that is still on what it brought goes back at once."""
        release = services.roll_back_release(self.actor(), release=release_id, **asked(ReleaseBackRequest, request))
        return self.started(self.shape(ReleaseShape, release))
