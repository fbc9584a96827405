"""What other models on the same servers say no to: ensembles, and memory."""

from apps.common.errors import Conflict, ControlPlaneError


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


class EnsembleBroken(ControlPlaneError):
    """An ensemble that the model is a member of no longer answers as it should."""

    code = "ensemble_broken"
    http_status = 422
    title = "An ensemble on top answers wrongly"
