"""How a make of server writes a model's configuration: the protocol and its frozen values."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

from apps.serving.preflight import Finding, PythonSource, ReadingRule, Rule, ServerFacts, Subject
from apps.serving.protocol import Signature, Tensor


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """A parsed model configuration.

    `document` is the whole configuration as JSON-shaped values in the server's own field names;
    the other fields are the parts Conch decides by.
    """

    name: str
    backend: str
    platform: str
    default_filename: str
    signature: Signature
    document: Mapping[str, Any]
    is_ensemble: bool = False
    is_decoupled: bool = False
    is_sequence: bool = False
    members: tuple[str, ...] = ()


class ConfigEffect(StrEnum):
    """What a difference between two configurations does to those who use and run the model."""

    INTERFACE = "interface"
    RESTART = "restart"
    NO_RESTART = "no_restart"
    NOT_USED = "not_used"


@dataclass(frozen=True, slots=True)
class ConfigDifference:
    """One field that differs: its path, and its value on each side as JSON-shaped values, None where it is absent."""

    path: str
    before: Any
    after: Any
    effect: ConfigEffect


@dataclass(frozen=True, slots=True)
class Member:
    """A model that an ensemble is made of; `version` is None where it takes the highest one loaded."""

    model: str
    version: int | None = None


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a server's words about a failed load mean: a stable code, the same in plain words, and the way out."""

    cause: str
    meaning: str
    hint: str


class ConfigFormat(Protocol):
    """How a make of server writes a model's configuration."""

    def parse(self, text: str) -> ModelConfig:
        """The configuration in `text`; ConfigUnparsable with line and column otherwise."""

    def required_file(self, config: Mapping[str, Any]) -> str | None:
        """The file a version directory must hold for this backend, None where any will do."""

    def backend_of(self, config: Mapping[str, Any], files: Iterable[str]) -> str:
        """The backend by name, by platform, or by the file that is there; empty when nothing tells."""

    def read_source(self, content: bytes) -> PythonSource:
        """What a model's own source says of itself; it is read, never run."""

    def make(self, file: Path, *, backend: str) -> dict[str, Any] | None:
        """A configuration for a file that came without one; None where the file does not tell enough."""

    def explain(self, reason: str) -> Explanation | None:
        """What a server's words about a failed load mean; None where they fit no known kind."""

    def missing_backend(self, reason: str) -> str:
        """The backend that a server said it does not have; empty when the reason is another."""

    @property
    def reading_rules(self) -> tuple[ReadingRule, ...]:
        """What `parse` refuses beyond the grammar."""

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Every rule a version is held against before a server sees it."""

    def examine(self, subject: Subject) -> tuple[Finding, ...]:
        """What the rules find in a version, for one server if the subject names it; errors first."""

    def examine_on(self, subject: Subject, servers: Iterable[ServerFacts]) -> tuple[Finding, ...]:
        """What the rules find in a version, of itself and for each of these servers; errors first."""

    def effective(
        self, config: Mapping[str, Any], *, name: str, versions: Sequence[int], warmup: Sequence[Mapping[str, Any]]
    ) -> dict[str, Any]:
        """`config` under `name`, serving exactly `versions`, warmed by `warmup` and nothing else."""

    def render(self, document: Mapping[str, Any]) -> str:
        """`document` as the file the server reads."""

    def can_stand_beside(self, one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
        """Whether a load that goes from one effective configuration to the other restarts no loaded version.

        Give it two results of `effective`: what the uploaded files said of warm-up is replaced there.
        """

    def takes_as_much(self, one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
        """Whether a version takes as much memory under either, as far as a configuration tells."""

    def differences(self, one: Mapping[str, Any], other: Mapping[str, Any]) -> tuple[ConfigDifference, ...]:
        """What changes from one to the other, whatever their layout; empty when they mean the same."""

    def clean_overlay(self, overlay: Mapping[str, Any]) -> dict[str, Any]:
        """The overlay, once every field in it is one an environment may set; OverlayInvalid otherwise."""

    def overlay_of(self, lines: Sequence[str], *, config: Mapping[str, Any]) -> dict[str, Any]:
        """The overlay that lines such as `instance_group.count=2` make of a version's configuration."""

    def overlay_lines(self, overlay: Mapping[str, Any]) -> list[str]:
        """The overlay as such lines."""

    def merge(self, config: Mapping[str, Any], overlay: Mapping[str, Any]) -> dict[str, Any]:
        """`config` as the overlay changes it."""

    def check_fit(self, config: Mapping[str, Any], overlay: Mapping[str, Any]) -> None:
        """OverlayInvalid when the two together are no configuration that a server would take."""

    def is_applied(self, running: Mapping[str, Any], *, was: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
        """Whether a server whose version ran `was` now runs `wanted`, by its own word."""

    def cannot_ask(self, config: Mapping[str, Any]) -> str:
        """In words, why single plain requests do not suit the model; empty where they do."""

    def zero_warmup(self, config: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Warm-up entries of zeros derived from the signature; empty where the model takes none."""

    def members(self, config: Mapping[str, Any]) -> tuple[Member, ...]:
        """The models that this one is made of, in the order of its steps; none unless it is an ensemble."""

    def example_inputs(self, config: Mapping[str, Any]) -> list[Tensor]:
        """Inputs equal to what `zero_warmup` makes the server run, batch dimension included."""
