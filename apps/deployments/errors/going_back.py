"""Bans, holds and history: what keeps a version away, and what was live when."""

from apps.common.errors import Conflict, NotFound


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
    hint = "Nothing needs to be done: the version may go live there again."


class PlacementHeld(Conflict):
    """A rollback, or somebody, holds what is live here: nothing moves it by accident."""

    code = "placement_held"
    title = "What is live here is held"
    hint = (
        'Read why. Then confirm that you go on and let go of the hold (REST: confirm: ["hold"]), or let go of it first.'
    )


class PlacementNotHeld(Conflict):
    """There is no hold to let go of."""

    code = "placement_not_held"
    title = "Nothing is held here"
    hint = "Nothing needs to be done."


class HistoryIsAppendOnly(Conflict):
    """Somebody tried to change what was live when."""

    code = "history_is_append_only"
    title = "History cannot be changed"
