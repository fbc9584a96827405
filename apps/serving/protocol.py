"""What Conch asks of one inference server, of any make: the protocol and its frozen values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from numpy.typing import NDArray

from apps.serving.memory import DeviceMemory


class Readiness(StrEnum):
    """A version's state as the server's index tells it."""

    READY = "READY"
    LOADING = "LOADING"
    UNLOADING = "UNLOADING"
    UNAVAILABLE = "UNAVAILABLE"
    UNKNOWN = "UNKNOWN"


class ControlMode(StrEnum):
    """Whether a server takes load and unload requests."""

    EXPLICIT = "explicit"
    NONE_OR_POLL = "none_or_poll"


@dataclass(frozen=True, slots=True)
class Address:
    """Where one server listens, and the key to its control API.

    `grpc` and `http` are `host:port`; `metrics` is the URL Prometheus scrapes. `control_key` and
    `control_value` are the header the server asks for before it takes model-repository requests.
    """

    name: str
    grpc: str
    http: str = ""
    metrics: str = ""
    control_key: str = ""
    control_value: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """Who a server says it is."""

    name: str
    version: str
    extensions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """One line of a server's model index; `version` is None for a model never loaded."""

    model: str
    version: int | None
    state: Readiness
    reason: str = ""


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """One input or output as a model declares it; -1 is a dynamic dimension.

    `shape` is without the batch dimension, which `max_batch_size` > 0 adds in front.
    """

    name: str
    datatype: str
    shape: tuple[int, ...]
    is_optional: bool = False


@dataclass(frozen=True, slots=True)
class Signature:
    """What clients of a model send and get."""

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    max_batch_size: int = 0


@dataclass(frozen=True, slots=True)
class Tensor:
    """A named tensor on its way to or from a server; `array` includes the batch dimension."""

    name: str
    datatype: str
    array: NDArray[Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """One inference's outputs by name, and how long it took from the caller's side."""

    outputs: Mapping[str, NDArray[Any]]
    latency_us: int


@dataclass(frozen=True, slots=True)
class Statistics:
    """Cumulative counts and microseconds of one version since it was loaded."""

    model: str
    version: int
    success_count: int
    failure_count: int
    success_us: int
    queue_us: int
    compute_input_us: int
    compute_infer_us: int
    compute_output_us: int
    inference_count: int
    execution_count: int
    last_inference_ms: int

    @property
    def compute_us(self) -> int:
        """All a request spends outside the queue."""
        return self.compute_input_us + self.compute_infer_us + self.compute_output_us


class ServingBackend(Protocol):
    """One server. Every call has a deadline and raises only errors of `apps.serving.errors`."""

    def close(self) -> None:
        """Give back the connections."""

    def describe(self, *, at_most_s_old: float = 0.0) -> ServerInfo:
        """Who the server says it is; not asked again where it said so lately and has answered every call since."""

    def control_mode(self) -> ControlMode:
        """Whether the server takes loads and unloads; ControlRefused when it wants a key for them."""

    def is_live(self) -> bool:
        """Whether the process answers at all; ServerUnreachable when nobody listens."""

    def is_server_ready(self, *, at_most_s_old: float = 0.0) -> bool:
        """The server-wide readiness; not asked again where it was told lately and the index has been the same since.

        Never a gate: it lies both ways.
        False from a server that is live shows that it runs with strict readiness.
        """

    def index(self) -> tuple[IndexEntry, ...]:
        """Every model and version the server knows."""

    def load(
        self,
        model: str,
        *,
        config: Mapping[str, Any] | None = None,
        files: Mapping[str, bytes] | None = None,
        timeout_s: float,
    ) -> None:
        """Load as `config` says; LoadPending when the deadline came before the server's answer.

        `files` are paths inside the model's directory (`7/model.py`) with their bytes; a version that is
        being served takes no new ones.
        """

    def unload(self, model: str, *, timeout_s: float) -> None:
        """Ask for the unload; it is done when the index says so."""

    def is_ready(self, model: str, version: int) -> bool:
        """The version's own readiness."""

    def infer(self, model: str, version: int | None, inputs: Sequence[Tensor], *, timeout_s: float = 10) -> Answer:
        """One request; InferenceFailed with the server's words otherwise, InferenceLate past the deadline."""

    def statistics(self, model: str = "") -> tuple[Statistics, ...]:
        """Counts per version; of every ready model when `model` is empty."""

    def signature(self, model: str, version: int) -> Signature:
        """Inputs and outputs as the loaded version tells them."""

    def configuration(self, model: str, version: int) -> Mapping[str, Any]:
        """The loaded version's whole configuration as the server tells it, defaults filled in."""

    def memory(self) -> tuple[DeviceMemory, ...]:
        """The cards' memory, else the machine's; empty where it tells neither. MetricsUnread when it does not answer.

        The figures may be some seconds old. It is asked with a deadline of its own, which is short.
        """
