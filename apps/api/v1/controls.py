"""What can be done with a rollout on its way, and how its gates were judged."""

from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.described import described
from apps.api.doors import ApiView, asked
from apps.api.idempotent import idempotent
from apps.api.shapes.common import ReasonShape
from apps.api.shapes.deployments import GateSkip, JudgementShape, RolloutShape, RunRetry
from apps.deployments import errors, selectors, services


class RolloutPause(ApiView):
    """Pausing."""

    @described(
        "Pause a rollout",
        takes=ReasonShape,
        gives=RolloutShape,
        status=202,
        errors=[errors.RolloutUnknown, errors.RolloutNotPausable, errors.ReasonMissing],
    )
    @idempotent()
    def post(self, request: Request, rollout_id: int) -> Response:
        """Nothing more begins; what has begun on a server comes to its end, and gates are judged on."""
        rollout = services.pause(self.actor(), rollout=rollout_id, **asked(ReasonShape, request))
        return self.started(self.shape(RolloutShape, rollout))


class RolloutResume(ApiView):
    """Going on."""

    @described(
        "Resume a rollout",
        takes=ReasonShape,
        gives=RolloutShape,
        status=202,
        errors=[errors.RolloutUnknown, errors.RolloutNotPaused, errors.PromotionsFrozen, errors.ReasonMissing],
    )
    @idempotent()
    def post(self, request: Request, rollout_id: int) -> Response:
        """A wave that was baking bakes once more, from now on; in a freeze it waits on."""
        rollout = services.resume(self.actor(), rollout=rollout_id, **asked(ReasonShape, request))
        return self.started(self.shape(RolloutShape, rollout))


class RolloutApproval(ApiView):
    """Four eyes."""

    @described(
        "Approve a rollout",
        takes=ReasonShape,
        gives=RolloutShape,
        status=202,
        errors=[
            errors.RolloutUnknown,
            errors.ApprovalByAuthor,
            errors.ApprovalNotNeeded,
            errors.PromotionsFrozen,
            errors.NotProvenElsewhere,
            errors.ReasonMissing,
        ],
    )
    @idempotent()
    def post(self, request: Request, rollout_id: int) -> Response:
        """Let a promotion begin that somebody else asked for; a freeze that opened meanwhile holds for it too."""
        rollout = services.approve(self.actor(), rollout=rollout_id, **asked(ReasonShape, request))
        return self.started(self.shape(RolloutShape, rollout))


class RolloutRetry(ApiView):
    """Trying a server again."""

    @described(
        "Retry a failed server",
        takes=RunRetry,
        gives=RolloutShape,
        status=202,
        errors=[errors.RolloutUnknown, errors.RunNotRetryable, errors.PromotionsFrozen, errors.ReasonMissing],
    )
    @idempotent()
    def post(self, request: Request, rollout_id: int) -> Response:
        """From the step that failed; a rollout that paused by itself goes on, one that somebody paused waits on."""
        rollout = services.retry_run(self.actor(), rollout=rollout_id, **asked(RunRetry, request))
        return self.started(self.shape(RolloutShape, rollout))


class RolloutGateSkip(ApiView):
    """Passing a gate unjudged."""

    @described(
        "Skip a gate",
        takes=GateSkip,
        gives=RolloutShape,
        status=202,
        errors=[errors.RolloutUnknown, errors.GateUnknown, errors.GateTooLate, errors.ReasonMissing],
    )
    @idempotent()
    def post(self, request: Request, rollout_id: int) -> Response:
        """For this rollout only; the other gates count as before. A paused rollout has to be resumed as well."""
        rollout = services.skip_gate(self.actor(), rollout=rollout_id, **asked(GateSkip, request))
        return self.started(self.shape(RolloutShape, rollout))


class Judgements(ApiView):
    """Every look at a rollout's gates."""

    @described("List judgements", gives=JudgementShape, is_page=True, errors=[errors.RolloutUnknown])
    def get(self, request: Request, rollout_id: int) -> Response:
        """Newest first, with the queries as they were sent."""
        selectors.state_of(rollout_id)
        return self.page(selectors.judgements_of(rollout_id), JudgementShape, ordering=["-at", "-pk"])
