"""What the room's refusals say beside what is wrong."""

from inspect import getmembers, isclass

from apps.common.errors import ControlPlaneError, NotFound
from apps.deployments import errors

# Told by whoever stopped it, or given its way out where it is raised; the last is for those who write Conch.
SAYS_ITSELF = {
    "aborted",
    "superseded",
    "release_turned_back",
    "preflight_failed",
    "history_is_append_only",
}


def test_every_refusal_says_the_way_out() -> None:
    kinds = [kind for _, kind in getmembers(errors, isclass) if issubclass(kind, ControlPlaneError)]

    mute = {kind.code for kind in kinds if not kind.hint and not issubclass(kind, NotFound)}

    assert mute == SAYS_ITSELF
