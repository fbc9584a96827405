"""Why a change of desired state is refused before it begins."""

from apps.common.errors import Conflict, Invalid, NotFound


class PlacementUnknown(NotFound):
    """The model has never been placed in that environment."""

    code = "placement_unknown"


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


class NeverLive(Conflict):
    """Rolling back skips trying a version aside, so it must have passed that before."""

    code = "never_live"
    title = "That version has never been live"
    hint = "Promote it instead: a promotion tries it aside first."


class NothingPlaced(Conflict):
    """No version of the model is live in the environment."""

    code = "nothing_placed"
    title = "No version is live here"
    hint = "Promote a version first."


class VersionNotReady(Conflict):
    """The version has not passed its checks, was rejected or is archived."""

    code = "version_not_ready"
    title = "The version cannot be promoted"
    hint = "Its page says how far it is, or why it was refused. Upload what is mended as a new version."


class VersionInUse(Conflict):
    """The version is live, kept hot, or on its way somewhere."""

    code = "version_in_use"
    title = "The version is in use"
    hint = "Promote another version there, or unload the model, and let a standby's window end; then ask again."


class VersionNotArchived(Conflict):
    """Bytes go only of a version that was taken out of use before."""

    code = "version_not_archived"
    title = "The version is not archived"
    hint = "Archive it first. What removed bytes leave is the history."


class InterfaceChanged(Conflict):
    """The switch changes the model's inputs or outputs: clients of the old shape would get errors at once."""

    code = "interface_changed"
    title = "The model's inputs or outputs change"
    hint = 'Make sure clients can follow, then confirm it (REST: confirm: ["interface"]).'


class OverlayUnchanged(Conflict):
    """The overlay asked for is the one in effect."""

    code = "overlay_unchanged"
    title = "That is how it is configured already"
    hint = "Nothing needs to be done."


class OverlayUnknown(NotFound):
    """The placement never had an overlay of that number."""

    code = "overlay_unknown"
    title = "Unknown overlay"
    hint = "Its page *Configure* lists every overlay that was there; 0 is the version as it was uploaded."


class PreflightFailed(Conflict):
    """A rule of preflight is broken for a server the version would go to; `findings` lists every one."""

    code = "preflight_failed"
    title = "The version cannot run there"


class PreflightWarnings(Conflict):
    """Preflight found what may be right, but is seldom meant; `findings` lists every one."""

    code = "preflight_warnings"
    title = "Preflight has warnings"
    hint = 'Read them, then confirm them (REST: confirm: ["warnings"]).'


class PromotionsFrozen(Conflict):
    """A freeze window of the environment's policy is open; rolling back is always possible."""

    code = "promotions_frozen"
    title = "Promotions are frozen here"
    hint = (
        "Wait until the window is over, or have an admin change the policy. "
        "Rolling back is not frozen, nor is putting an overlay back."
    )


class NotProvenElsewhere(Conflict):
    """These bytes with this configuration have not run long enough where the policy wants them first."""

    code = "not_proven_elsewhere"
    title = "It has not run in the earlier environment for long enough"
    hint = "Promote it there first and let it run."


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


class MembersMissing(Conflict):
    """An ensemble's members are not live in the environment."""

    code = "members_missing"
    title = "The ensemble's members are not live here"
    hint = "Promote them first."


class NeededByEnsemble(Conflict):
    """A live ensemble is made of it, and would stop at once."""

    code = "needed_by_ensemble"
    title = "A live ensemble needs it"
    hint = "Unload the ensemble first, or promote a version of it that does without."


class MemoryShort(Conflict):
    """A server has too little memory for one more version beside those that serve."""

    code = "memory_short"
    title = "It does not fit into the server's memory"
    hint = (
        "Set drop_standby in the environment's policy to let go of the standby first, unload another model there, "
        "restart a server that shows a leak, or take a larger one."
    )
