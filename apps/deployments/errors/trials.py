"""Requests by hand, and answers to be captured."""

from apps.common.errors import Conflict, ControlPlaneError, Invalid, NotFound


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
