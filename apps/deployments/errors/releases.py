"""Why a release is refused, or did not come about."""

from apps.common.errors import Conflict, ControlPlaneError, Invalid, NotFound


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


class ReleaseStandsElsewhere(Conflict):
    """None of its rollouts is in a state in which that can be done."""

    code = "release_stands_elsewhere"
    title = "None of the release's rollouts stands so"
    hint = "An approval needs rollouts that wait for one, a pause moving ones, a resumption paused ones."


class ReleaseNotLive(Conflict):
    """Nothing of what the release brought is live any more."""

    code = "release_not_live"
    title = "Nothing of this release is live"
    hint = "Its page says what became of each rollout. A single model goes back from its own page."
