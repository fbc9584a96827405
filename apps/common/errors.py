"""The one error tree: every failure a person or a script can meet.

The class says what happened (`code`), how HTTP tells it (`http_status`) and whether trying
again may help (`retryable`); the message names the object and the cause; `hint` is the way out.
"""

from typing import Any, ClassVar


class ControlPlaneError(Exception):
    """Something Conch refuses or could not do."""

    code: ClassVar[str] = "control_plane_error"
    http_status: ClassVar[int] = 500
    retryable: ClassVar[bool] = False
    title: ClassVar[str] = "Something went wrong"
    hint: str = ""

    def __init__(self, message: str, *, hint: str = "", **facts: Any) -> None:
        super().__init__(message)
        self.message = message
        self.facts = facts
        if hint:
            self.hint = hint


class Invalid(ControlPlaneError):
    """What was asked cannot be right as it stands; `field` names where."""

    code = "invalid"
    http_status = 400
    title = "The request is not valid"


class ValueUnstorable(Invalid):
    """The database refused a value that passed every check."""

    code = "value_unstorable"
    title = "A value cannot be stored"
    hint = "Look for numbers out of range and strange characters."


class NotFound(ControlPlaneError):
    """There is no such object, or none this actor may see."""

    code = "not_found"
    http_status = 404
    title = "Not found"


class Conflict(ControlPlaneError):
    """It collides with what is already there."""

    code = "conflict"
    http_status = 409
    title = "Conflict"


class IllegalTransition(Conflict):
    """The row is not, or no longer, in a state from which this move is allowed."""

    code = "illegal_transition"
    title = "Not possible in this state"


class NotAllowed(ControlPlaneError):
    """The actor is known, but may not do this here."""

    code = "not_allowed"
    http_status = 403
    title = "Not allowed"
