"""Why a change of desired state is refused, or did not come about."""

from apps.common.errors import Conflict, ControlPlaneError, Invalid, NotFound


class PlacementUnknown(NotFound):
    """The model has never been placed in that environment."""

    code = "placement_unknown"


class RolloutUnknown(NotFound):
    """No rollout has that number."""

    code = "rollout_unknown"


class PolicyInvalid(Invalid):
    """An environment's policy names something that cannot be; `field` says where."""

    code = "policy_invalid"
    title = "The policy is not valid"
    hint = "Mend the fields that are named; docs/operations.md has a policy for each purpose."


class PolicyChanged(Conflict):
    """Somebody changed the policy between reading and writing it."""

    code = "policy_changed"
    title = "The policy was changed meanwhile"
    hint = "Read the newest one, make your change in it, then ask again."


class GateFailed(ControlPlaneError):
    """A gate's value was on the wrong side of its limit: the version was put back."""

    code = "gate_failed"
    http_status = 409
    title = "A gate failed"
    hint = "The rollout's page shows each judgement with its query."


class GateInconclusive(ControlPlaneError):
    """A gate had too little to go by, and the environment's policy turns back then."""

    code = "gate_inconclusive"
    http_status = 409
    title = "A gate could not be judged"
    hint = "Send more traffic, bake longer, allow synthetic requests in the policy, or skip the gate with a reason."


class GateUnknown(NotFound):
    """The rollout's policy has no gate of that name."""

    code = "gate_unknown"
    title = "No such gate"


class RolloutNotPausable(Conflict):
    """Only a promotion that moves can be paused."""

    code = "rollout_not_pausable"
    title = "This rollout cannot be paused"


class RolloutNotPaused(Conflict):
    """There is nothing to resume."""

    code = "rollout_not_paused"
    title = "This rollout is not paused"


class ApprovalNotNeeded(Conflict):
    """The rollout does not wait for anybody's approval."""

    code = "approval_not_needed"
    title = "This rollout does not wait for an approval"


class ApprovalByAuthor(Conflict):
    """Who asked for a promotion cannot be the one who approves it, nor can a token of theirs."""

    code = "approval_by_author"
    title = "Somebody else must approve"
    hint = "Ask a colleague: four eyes see more than two."


class RunNotRetryable(Conflict):
    """The run has not failed, or its rollout no longer goes forward."""

    code = "run_not_retryable"
    title = "This server cannot be tried again"
    hint = "Only a failed server of a rollout that is paused or still moving can be; else promote again."


class PromotionsFrozen(Conflict):
    """A freeze window of the environment's policy is open; rolling back is always possible."""

    code = "promotions_frozen"
    title = "Promotions are frozen here"
    hint = "Wait until the window is over, or have an admin change the policy. Rolling back is not frozen."


class NotProvenElsewhere(Conflict):
    """These bytes with this configuration have not run long enough where the policy wants them first."""

    code = "not_proven_elsewhere"
    title = "It has not run in the earlier environment for long enough"
    hint = "Promote it there first and let it run."


class RolloutActive(Conflict):
    """Another rollout is moving the same model in the same environment."""

    code = "rollout_active"
    title = "A rollout is already moving this model here"
    hint = "Wait until it has ended, or roll it back."


class PlacementChanged(Conflict):
    """Another rollout ended between looking and acting: what was decided rests on what was live before."""

    code = "placement_changed"
    retryable = True
    title = "What is live here has just changed"
    hint = "Look at what is live now, then ask again."


class RolloutNotAbortable(Conflict):
    """The rollout has ended, or is itself putting things back."""

    code = "rollout_not_abortable"
    title = "This rollout cannot be aborted"


class AlreadyActive(Conflict):
    """The version asked for is the one that is live."""

    code = "already_active"
    title = "That version is already live here"
    hint = "Nothing needs to be done."


class NothingToRollBackTo(Conflict):
    """No earlier version was ever live there."""

    code = "nothing_to_roll_back_to"
    title = "There is no version to roll back to"
    hint = "Name the version to go to, or promote one."


class VersionBanned(Conflict):
    """Somebody rolled these bytes and this configuration back here, and nobody has lifted the ban since."""

    code = "version_banned"
    title = "The version is banned here"
    hint = "Read why. Lift the ban, with a reason, if the cause is gone; or promote a version that mends it."


class BanUnknown(NotFound):
    """No ban has that number."""

    code = "ban_unknown"


class BanLifted(Conflict):
    """The ban was lifted before."""

    code = "ban_lifted"
    title = "The ban is not in force any more"


class PlacementHeld(Conflict):
    """A rollback, or somebody, holds what is live here: nothing moves it by accident."""

    code = "placement_held"
    title = "What is live here is held"
    hint = 'Read why. Ask again with confirm: ["hold"] to go on and let go of the hold, or let go of it first.'


class PlacementNotHeld(Conflict):
    """There is no hold to let go of."""

    code = "placement_not_held"
    title = "Nothing is held here"


class Superseded(ControlPlaneError):
    """Something else was asked for while this was moving, and took over."""

    code = "superseded"
    http_status = 409
    title = "Another rollout took over"


class ReleaseUnknown(NotFound):
    """No release has that number."""

    code = "release_unknown"


class ReleaseInvalid(Invalid):
    """A release names no model, or one twice."""

    code = "release_invalid"
    title = "The release is not valid"
    hint = "Name each model once, with the version it is to go to."


class ReleaseDecided(Conflict):
    """All of the release has passed and is being made live, or it goes back already."""

    code = "release_decided"
    retryable = True
    title = "The release is decided"
    hint = "It ends within seconds: then roll it back as a whole."


class ReleaseTurnedBack(ControlPlaneError):
    """Another rollout of the same release did not pass: all go back together."""

    code = "release_turned_back"
    http_status = 409
    title = "The release went back as a whole"


class ReleaseNotLive(Conflict):
    """Nothing of what the release brought is live any more."""

    code = "release_not_live"
    title = "Nothing of this release is live"


class HistoryIsAppendOnly(Conflict):
    """Somebody tried to change what was live when."""

    code = "history_is_append_only"
    title = "History cannot be changed"


class NeverLive(Conflict):
    """Rolling back skips trying a version aside, so it must have passed that before."""

    code = "never_live"
    title = "That version has never been live"
    hint = "Promote it instead: a promotion tries it aside first."


class NothingPlaced(Conflict):
    """No version of the model is live in the environment."""

    code = "nothing_placed"
    title = "No version is live here"


class VersionNotReady(Conflict):
    """The version has not passed its checks, was rejected or is archived."""

    code = "version_not_ready"
    title = "The version cannot be promoted"


class VersionInUse(Conflict):
    """The version is live, kept hot, or on its way somewhere."""

    code = "version_in_use"
    title = "The version is in use"


class InterfaceChanged(Conflict):
    """The switch changes the model's inputs or outputs: clients of the old shape would get errors at once."""

    code = "interface_changed"
    title = "The model's inputs or outputs change"
    hint = 'Make sure clients can follow, then ask again with confirm: ["interface"].'


class OverlayUnchanged(Conflict):
    """The overlay asked for is the one in effect."""

    code = "overlay_unchanged"
    title = "That is how it is configured already"
    hint = "Nothing needs to be done."


class OverlayUnknown(NotFound):
    """The placement never had an overlay of that number."""

    code = "overlay_unknown"
    title = "Unknown overlay"


class PreflightFailed(Conflict):
    """A rule of preflight is broken for a server the version would go to; `findings` lists every one."""

    code = "preflight_failed"
    title = "The version cannot run there"


class PreflightWarnings(Conflict):
    """Preflight found what may be right, but is seldom meant; `findings` lists every one."""

    code = "preflight_warnings"
    title = "Preflight has warnings"
    hint = 'Read them, then ask again with confirm: ["warnings"].'


class NoServers(Conflict):
    """The environment has no active server that takes rollouts."""

    code = "no_servers"
    title = "There is no server to change"
    hint = "Add a server to the environment, or uncordon one."


class ServersDown(Conflict):
    """A server of the environment cannot be reached right now."""

    code = "servers_down"
    title = "Not every server can be reached"
    hint = "Bring it back, or leave it out on purpose by naming it in `skip`."


class ServerMoving(Conflict):
    """The server is part of a rollout that has not ended."""

    code = "server_moving"
    title = "A rollout is changing this server"
    hint = "Wait until it has ended, or abort it."


class ReasonMissing(Invalid):
    """Rolling back and unloading ask why."""

    code = "reason_missing"
    title = "A reason is needed"
    hint = "Say why: it is what the next person reads in the history."


class ModelServedUnplaced(ControlPlaneError):
    """The server serves versions of the model that Conch did not place there."""

    code = "model_served_unplaced"
    http_status = 409
    title = "The server already serves this model, not through Conch"
    hint = 'Loading would drop those versions. Ask again with confirm: ["unplaced"] to replace them.'


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


class ShadowTooSlow(ControlPlaneError):
    """Aside, under the same load, the version took longer than the policy lets it."""

    code = "shadow_too_slow"
    http_status = 422
    title = "The version is too slow"


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


class GoldenMismatch(ControlPlaneError):
    """The version's answers differ from the golden ones."""

    code = "golden_mismatch"
    http_status = 422
    title = "Golden answers differ"


class NotReadyInTime(ControlPlaneError):
    """The version was loaded but its own readiness never came."""

    code = "not_ready_in_time"
    http_status = 504
    title = "The version did not become ready"


class Aborted(ControlPlaneError):
    """Somebody stopped the rollout."""

    code = "aborted"
    http_status = 409
    title = "The rollout was aborted"


class StepKeptDying(ControlPlaneError):
    """The worker was lost every time it tried this step."""

    code = "step_kept_dying"
    title = "The worker was lost in this step again and again"


class StepBroke(ControlPlaneError):
    """A defect in Conch itself; the log has the traceback."""

    code = "step_broke"
    title = "Conch itself failed in this step"
    hint = "This is a defect in Conch: the worker's log has the details."


class TrialUnknown(NotFound):
    """No trial has that number, or it was forgotten."""

    code = "trial_unknown"
    hint = "Trials are kept for a week."


class NotServedThere(Conflict):
    """The server was not last seen to serve that version, so nobody can ask it."""

    code = "not_served_there"
    title = "That server does not serve that version"
    hint = "Choose a server that serves it, or promote the version first."


class NothingToSend(Invalid):
    """No inputs were given, and none can be made from the configuration."""

    code = "nothing_to_send"
    title = "There is nothing to send"
    hint = "Give the inputs, or the name of a sample. Sequence and decoupled models take no made-up ones."


class AnswersVary(ControlPlaneError):
    """The live version answers the same request differently: no answer of it can be the expected one."""

    code = "answers_vary"
    http_status = 422
    title = "The answers to one request differ"
    hint = "Compare by label, or with wider tolerances, or give the expected outputs yourself."


class TrialLost(ControlPlaneError):
    """The worker that asked ended before it could tell the answer."""

    code = "trial_lost"
    http_status = 503
    retryable = True
    title = "The request's answer was lost"
    hint = "Try it again."
