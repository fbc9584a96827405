"""Policies, gates, controls: what is refused while a rollout moves, and why it turned back."""

from apps.common.errors import Conflict, ControlPlaneError, Invalid, NotFound


class RolloutUnknown(NotFound):
    """No rollout has that number."""

    code = "rollout_unknown"


class RunUnknown(NotFound):
    """No run has that number: a message about it came before its row could be read, or the row is gone."""

    code = "run_unknown"
    retryable = True


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
    hint = (
        "Read the gate's judgements and their queries (on the rollout's page, or at /api/v1/rollouts/{id}/judgements), "
        "mend the version and promote that; a limit that is too strict is changed in the environment's policy."
    )


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


class GateTooLate(Conflict):
    """The rollout has ended or goes back: there is no gate for it to pass."""

    code = "gate_too_late"
    title = "This rollout passes no gate any more"
    hint = "If it went back for this gate, change the gate's limit in the environment's policy and promote again."


class RolloutNotPausable(Conflict):
    """Only a promotion that moves can be paused."""

    code = "rollout_not_pausable"
    title = "This rollout cannot be paused"
    hint = (
        "What goes in waves can be paused while it moves: a promotion, or a new overlay. All else is left to "
        "end, or rolled back."
    )


class RolloutNotPaused(Conflict):
    """There is nothing to resume."""

    code = "rollout_not_paused"
    title = "This rollout is not paused"
    hint = "Its page says how far it is: it moves on by itself, or has ended."


class ApprovalNotNeeded(Conflict):
    """The rollout does not wait for anybody's approval."""

    code = "approval_not_needed"
    title = "This rollout does not wait for an approval"
    hint = "Its page says how far it is: it was approved, needs no approval, or has ended."


class ApprovalByAuthor(Conflict):
    """Who asked for a promotion cannot be the one who approves it, nor can a token of theirs."""

    code = "approval_by_author"
    title = "Somebody else must approve"
    hint = (
        "Ask somebody else who may approve there. Where nobody is, an admin can change `approval` in the policy: "
        "that holds for the next promotion."
    )


class RunNotRetryable(Conflict):
    """The run has not failed, or its rollout no longer goes forward."""

    code = "run_not_retryable"
    title = "This server cannot be tried again"
    hint = "Only a failed server of a rollout that is paused or still moving can be; else promote again."


class RolloutNotAbortable(Conflict):
    """The rollout has ended, or is itself putting things back."""

    code = "rollout_not_abortable"
    title = "This rollout cannot be aborted"
    hint = "What goes back or has ended is not aborted. If what it brought is live, roll back."


class Superseded(ControlPlaneError):
    """Something else was asked for while this was moving, and took over."""

    code = "superseded"
    http_status = 409
    title = "Another rollout took over"


class Aborted(ControlPlaneError):
    """Somebody stopped the rollout."""

    code = "aborted"
    http_status = 409
    title = "The rollout was aborted"
