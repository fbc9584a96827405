"""What Triton's and gRPC's words mean: each failure as an error of `apps.serving.errors`."""

import re
from dataclasses import asdict
from typing import Any

from tritonclient.utils import InferenceServerException

from apps.common.errors import ControlPlaneError
from apps.common.text import SHOWN_CHARS, printable
from apps.serving import errors
from apps.serving.backends.triton import load_failures

RESTRICTED = "This protocol is restricted"
NOT_EXPLICIT = "explicit model load / unload is not allowed"
FAILED_TO_POLL = "failed to poll from model repository"
UNKNOWN_MODEL = "Request for unknown model"
NOT_READY = "is not at ready state"
_NOT_THERE = re.compile(r"requested model '[^']*' is not available")
NOT_HTTP2 = "Failed parsing HTTP/2"

# A refusal of any call, by how the server's words begin.
_REFUSALS: tuple[tuple[str, type[ControlPlaneError]], ...] = (
    (RESTRICTED, errors.ControlRefused),
    (NOT_EXPLICIT, errors.NotExplicit),
)
# Statuses the transport gives; Triton itself answers some refusals with UNAVAILABLE too.
_TRANSPORT: dict[str, type[ControlPlaneError]] = {
    "StatusCode.UNAVAILABLE": errors.ServerUnreachable,
    "StatusCode.CANCELLED": errors.ServerUnreachable,
    "StatusCode.DEADLINE_EXCEEDED": errors.ServerUnreachable,
    "StatusCode.UNIMPLEMENTED": errors.NotAnInferenceServer,
}
_MEANINGS = {"Deadline Exceeded": "no answer in time", "Method not found!": "it speaks gRPC, but not Triton's"}


def words(error: InferenceServerException) -> str:
    """What the server, or gRPC in its place, said; whole and as it came."""
    return str(error.message() or "no reason given")


def is_late(error: InferenceServerException) -> bool:
    """Whether the deadline passed before an answer."""
    return bool(error.status() == "StatusCode.DEADLINE_EXCEEDED")


def call_fault(error: InferenceServerException, *, server: str, doing: str, **facts: Any) -> ControlPlaneError:
    """The error of a question that a healthy server always answers."""
    kind = errors.ModelUnavailable if _is_missing_model(error) else _common(error) or errors.ServerFailed
    return _build(kind, error, server=server, doing=doing, **facts)


def load_fault(error: InferenceServerException, *, server: str, doing: str, **facts: Any) -> ControlPlaneError:
    """The error of a load or an unload; late means pending, because it goes on at the server."""
    kind = errors.LoadPending if is_late(error) else _common(error)
    if kind is None:
        kind = errors.FailedToPoll if words(error).endswith(FAILED_TO_POLL) else errors.LoadRefused
        explanation = load_failures.explain(words(error))
        facts |= asdict(explanation) if explanation else {}
    return _build(kind, error, server=server, doing=doing, **facts)


def inference_fault(error: InferenceServerException, *, server: str, doing: str, **facts: Any) -> ControlPlaneError:
    """The error of a request: a version that is not there, a late answer or the model's own words."""
    kind: type[ControlPlaneError]
    if is_late(error):
        kind = errors.InferenceLate
    elif _is_missing_model(error):
        kind = errors.ModelUnavailable
    else:
        kind = _common(error) or errors.InferenceFailed
    return _build(kind, error, server=server, doing=doing, **facts)


def _is_missing_model(error: InferenceServerException) -> bool:
    said = words(error)
    return said.startswith(UNKNOWN_MODEL) or said.endswith(NOT_READY) or _NOT_THERE.fullmatch(said) is not None


def _common(error: InferenceServerException) -> type[ControlPlaneError] | None:
    said = words(error)
    for beginning, kind in _REFUSALS:
        if said.startswith(beginning):
            return kind
    if NOT_HTTP2 in said and error.status() == "StatusCode.UNAVAILABLE":
        return errors.NotAnInferenceServer
    return _TRANSPORT.get(str(error.status()))


def _build(
    kind: type[ControlPlaneError], error: InferenceServerException, *, server: str, doing: str, **facts: Any
) -> ControlPlaneError:
    said = words(error)
    shown = printable(_MEANINGS.get(said, said).strip(), limit=SHOWN_CHARS)
    return kind(f"{server}: {doing}: {shown}", server=server, reason=said, **facts)
