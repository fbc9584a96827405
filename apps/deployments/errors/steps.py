"""Why a step on a server did not come about."""

from apps.common.errors import ControlPlaneError


class ModelServedUnplaced(ControlPlaneError):
    """The server serves versions of the model that Conch did not place there."""

    code = "model_served_unplaced"
    http_status = 409
    title = "The server already serves this model, not through Conch"
    hint = 'Loading would drop those versions. To replace them, confirm that (REST: confirm: ["unplaced"]).'


class StrangeEntries(ControlPlaneError):
    """The model's directory holds names that would hang or end the server at the next load."""

    code = "strange_entries"
    http_status = 409
    title = "The model directory holds entries that Triton would trip over"
    hint = "Move them out of the repository, then try again."


class ShadowFailed(ControlPlaneError):
    """The version did not pass aside: no client was ever sent to it."""

    code = "shadow_failed"
    http_status = 422
    title = "The version failed aside, before any client was sent to it"
    hint = (
        "No client met it, and what was live serves on. Read what the server said, mend the version, and promote that."
    )


class ShadowTooSlow(ControlPlaneError):
    """Aside, under the same load, the version took longer than the policy lets it."""

    code = "shadow_too_slow"
    http_status = 422
    title = "The version is too slow"
    hint = (
        "No client met it. Compare both figures in the step; mend the version, or change `shadow.load` in the "
        "environment's policy."
    )


class ShadowUnmeasured(ControlPlaneError):
    """The policy asks for a load on the shadow, and too little of it was answered to compare: that is no pass."""

    code = "shadow_unmeasured"
    http_status = 422
    title = "The version could not be measured aside"
    hint = "Add a sample the model can answer, or take `shadow.load` out of the environment's policy."


class WarmupFailed(ControlPlaneError):
    """The version answered a warm-up request with an error."""

    code = "warmup_failed"
    http_status = 422
    title = "The version cannot answer its warm-up requests"
    hint = (
        "Read what the server answered: the version takes other inputs than its configuration or the model's "
        "samples say."
    )


class GoldenMismatch(ControlPlaneError):
    """The version's answers differ from the golden ones."""

    code = "golden_mismatch"
    http_status = 422
    title = "Golden answers differ"
    hint = "If the new answers are right, replace the sample by one that has them; else mend the version."


class NotReadyInTime(ControlPlaneError):
    """The version was loaded but its own readiness never came."""

    code = "not_ready_in_time"
    http_status = 504
    title = "The version did not become ready"
    hint = (
        "Read the server's log. If the model takes long to be ready, raise its load deadline; else restart the server."
    )


class StepKeptDying(ControlPlaneError):
    """The worker was lost every time it tried this step."""

    code = "step_kept_dying"
    title = "The worker was lost in this step again and again"
    hint = "Read the worker's log and look at its memory. Then retry the server, or roll back."


class StepBroke(ControlPlaneError):
    """A defect in Conch itself; the log has the traceback."""

    code = "step_broke"
    title = "Conch itself failed in this step"
    hint = "This is a defect in Conch: the worker's log has the details."


class EnsembleBroken(ControlPlaneError):
    """An ensemble that the model is a member of no longer answers as it should."""

    code = "ensemble_broken"
    http_status = 422
    title = "An ensemble on top answers wrongly"
    hint = "Read which ensemble, and what it answered. Mend the member or the ensemble, or release both together."
