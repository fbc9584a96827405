"""What a Triton refuses, in its own words (measured on 2.51.0)."""

import grpc

INVALID, NOT_FOUND = grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND
UNAVAILABLE, INTERNAL = grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.INTERNAL

# What each gRPC status is over HTTP.
HTTP_STATUS = {INVALID: 400, NOT_FOUND: 404, UNAVAILABLE: 503, INTERNAL: 500}


class Refusal(Exception):
    """A call that is answered with a status and words."""

    def __init__(self, code: grpc.StatusCode, words: str) -> None:
        super().__init__(words)
        self.code = code
        self.words = words


def failed_to_poll(name: str) -> Refusal:
    """No such directory, or a configuration it cannot read: the real one says no more either."""
    return Refusal(INTERNAL, f"failed to load '{name}', failed to poll from model repository")


def load_failed(name: str, reasons: dict[int, str]) -> Refusal:
    """One or more versions did not come up."""
    told = "".join(f"version {number} is at UNAVAILABLE state: {why};" for number, why in sorted(reasons.items()))
    return Refusal(INVALID, f"load failed for model '{name}': {told}\n")


def unknown_model(name: str) -> Refusal:
    """A request for a model nobody ever loaded here."""
    return Refusal(NOT_FOUND, f"Request for unknown model: '{name}' is not found")


def unknown_version(name: str, number: int) -> Refusal:
    """The model is known, the version is not."""
    return Refusal(NOT_FOUND, f"Request for unknown model: '{name}' version {number} is not found")


def nothing_available(name: str) -> Refusal:
    """The model is known, and none of its versions serves."""
    return Refusal(NOT_FOUND, f"Request for unknown model: '{name}' has no available versions")


def not_at_ready_state(name: str, number: int) -> Refusal:
    """The version is known and does not serve."""
    return Refusal(UNAVAILABLE, f"Request for unknown model: '{name}' version {number} is not at ready state")


def not_available(name: str) -> Refusal:
    """Statistics of what is not loaded."""
    return Refusal(INVALID, f"requested model '{name}' is not available")


def not_a_version(text: str) -> Refusal:
    """A version that is no number."""
    return Refusal(
        INVALID,
        f"failed to get model version from specified version string '{text}' (details: stol), "
        "version should be an integral value > 0",
    )


def not_explicit() -> Refusal:
    """Loads and unloads are somebody else's business here."""
    return Refusal(UNAVAILABLE, "explicit model load / unload is not allowed if polling is enabled")


def restricted(header: str) -> Refusal:
    """The control API wants a header."""
    return Refusal(UNAVAILABLE, f"This protocol is restricted, expecting header '{header}'")
