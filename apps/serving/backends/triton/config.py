"""config.pbtxt by Triton's own protobuf: what it says, what Conch makes of it, how it is written."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from google.protobuf import text_format
from tritonclient.grpc.model_config_pb2 import ModelConfig as ConfigMessage

from apps.common.text import SHOWN_CHARS, printable
from apps.serving.backends.triton import differences, overlay_lines, spelling, warmup
from apps.serving.backends.triton import overlay as overlays
from apps.serving.backends.triton.document import datatype, to_document, to_message
from apps.serving.backends.triton.escapes import strange_escape
from apps.serving.backends.triton.filenames import backend_of, required_file
from apps.serving.backends.triton.load_failures import explain, missing_backend
from apps.serving.backends.triton.made import make_config
from apps.serving.backends.triton.preflight import RULES
from apps.serving.backends.triton.python_source import read_source
from apps.serving.backends.triton.rules import READING_RULES, check
from apps.serving.configuration import ConfigDifference, Explanation, Member, ModelConfig
from apps.serving.errors import ConfigUnparsable
from apps.serving.preflight import Finding, PythonSource, ReadingRule, Rule, ServerFacts, Subject, examine, examine_on
from apps.serving.protocol import Signature, Tensor, TensorSpec

# Differences in these alone restart no loaded version (core, model_lifecycle).
HARMLESS_FIELDS = ("name", "instance_group", "version_policy")
# What says how much a version takes: copies, the largest batch, precision and graphs, and what a backend is told.
MEMORY_FIELDS = ("instance_group", "max_batch_size", "optimization", "parameters")

# Of the line that cannot be read, so many are shown.
LINE_CHARS = 160
_PLACE = re.compile(r"^\d+:\d+ : ")


class PbtxtFormat:
    """A `ConfigFormat` for config.pbtxt."""

    def parse(self, text: str) -> ModelConfig:
        """The configuration in `text`; ConfigUnparsable with line and column otherwise."""
        message = ConfigMessage()
        if found := strange_escape(text):
            line, column, escape = found
            said = f"config.pbtxt, line {line}, column {column}: {printable(escape)!r} is no escape a string can hold"
            raise ConfigUnparsable(said, line=line, column=column, text=_line(text, line, column))
        try:
            text_format.Parse(text, message)
        except text_format.ParseError as error:
            raise _unparsable(error, text) from error
        check(message)
        return _model_config(message)

    def required_file(self, config: Mapping[str, Any]) -> str | None:
        """The file a version directory must hold for this backend, None where any will do."""
        return required_file(config)

    def backend_of(self, config: Mapping[str, Any], files: Iterable[str]) -> str:
        """The backend by name, by platform, or by the file that is there; empty when nothing tells."""
        return backend_of(config, files)

    def read_source(self, content: bytes) -> PythonSource:
        """What a model's own source says of itself; it is read, never run."""
        return read_source(content)

    def make(self, file: Path, *, backend: str) -> dict[str, Any] | None:
        """A configuration for a file that came without one; None where the file does not tell enough."""
        return make_config(file, backend=backend)

    def explain(self, reason: str) -> Explanation | None:
        """What a server's words about a failed load mean; None where they fit no known kind."""
        return explain(reason)

    def missing_backend(self, reason: str) -> str:
        """The backend that a server said it does not have; empty when the reason is another."""
        return missing_backend(reason)

    @property
    def reading_rules(self) -> tuple[ReadingRule, ...]:
        """What `parse` refuses beyond the grammar."""
        return READING_RULES

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Every rule a version is held against before a server sees it."""
        return RULES

    def examine(self, subject: Subject) -> tuple[Finding, ...]:
        """What the rules find in a version, for one server if the subject names it; errors first."""
        return examine(RULES, subject)

    def examine_on(self, subject: Subject, servers: Iterable[ServerFacts]) -> tuple[Finding, ...]:
        """What the rules find in a version, of itself and for each of these servers; errors first."""
        return examine_on(RULES, subject, servers)

    def effective(
        self, config: Mapping[str, Any], *, name: str, versions: Sequence[int], warmup: Sequence[Mapping[str, Any]]
    ) -> dict[str, Any]:
        """`config` under `name`, serving exactly `versions`, warmed by `warmup` and nothing else."""
        document = {field: value for field, value in config.items() if field != "model_warmup"}
        document["name"] = name
        document["version_policy"] = {"specific": {"versions": sorted(versions)}}
        if warmup:
            document["model_warmup"] = [dict(entry) for entry in warmup]
        return document

    def render(self, document: Mapping[str, Any]) -> str:
        """`document` as the file the server reads."""
        return text_format.MessageToString(to_message(document), as_utf8=True)

    def can_stand_beside(self, one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
        """Whether a load that goes from one effective configuration to the other restarts nothing."""
        return bool(_telling_part(one) == _telling_part(other))

    def takes_as_much(self, one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
        """Whether a version takes as much memory under either, as far as a configuration tells."""
        sides = [to_message({field: side[field] for field in MEMORY_FIELDS if field in side}) for side in (one, other)]
        return bool(sides[0] == sides[1])

    def differences(self, one: Mapping[str, Any], other: Mapping[str, Any]) -> tuple[ConfigDifference, ...]:
        """What changes from one to the other, whatever their layout; empty when they mean the same."""
        return tuple(differences.between(one, other))

    def clean_overlay(self, overlay: Mapping[str, Any]) -> dict[str, Any]:
        """The overlay, once every field in it is one an environment may set."""
        return overlays.clean(overlay)

    def overlay_of(self, lines: Sequence[str], *, config: Mapping[str, Any]) -> dict[str, Any]:
        """The overlay that lines such as `instance_group.count=2` make of a version's configuration."""
        return overlay_lines.read(lines, config=config)

    def overlay_lines(self, overlay: Mapping[str, Any]) -> list[str]:
        """The overlay as such lines."""
        return overlay_lines.write(overlay)

    def merge(self, config: Mapping[str, Any], overlay: Mapping[str, Any]) -> dict[str, Any]:
        """`config` as the overlay changes it."""
        return overlays.merge(config, overlay)

    def check_fit(self, config: Mapping[str, Any], overlay: Mapping[str, Any]) -> None:
        """OverlayInvalid when the two together are no configuration that a server would take."""
        overlays.check_fit(config, overlay)

    def is_applied(self, running: Mapping[str, Any], *, was: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
        """Whether a server whose version ran `was` now runs `wanted`, by its own word."""
        return overlays.is_applied(running, was=was, wanted=wanted)

    def cannot_ask(self, config: Mapping[str, Any]) -> str:
        """In words, why single plain requests do not suit the model; empty where they do."""
        return warmup.cannot_ask(config)

    def zero_warmup(self, config: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Warm-up entries of zeros derived from the signature; empty where the model takes none."""
        return warmup.zero_warmup(config)

    def members(self, config: Mapping[str, Any]) -> tuple[Member, ...]:
        """The models that this one is made of, in the order of its steps; none unless it is an ensemble."""
        steps = config.get("ensemble_scheduling", {}).get("step", ())
        return tuple(dict.fromkeys(_member(step) for step in steps))

    def example_inputs(self, config: Mapping[str, Any]) -> list[Tensor]:
        """Inputs equal to what `zero_warmup` makes the server run, batch dimension included."""
        return warmup.example_inputs(config)


CONFIG = PbtxtFormat()


def _member(step: Mapping[str, Any]) -> Member:
    """A step's model; a version of -1, or none, means the highest one loaded. Whole numbers may be kept as text."""
    version = int(step.get("model_version", -1))
    return Member(str(step.get("model_name", "")), version if version > 0 else None)


def signature_of(message: Any) -> Signature:
    """What clients send and get, from a ModelConfig message."""
    return Signature(
        inputs=tuple(_spec(tensor, is_optional=tensor.optional) for tensor in message.input),
        outputs=tuple(_spec(tensor) for tensor in message.output),
        max_batch_size=message.max_batch_size,
    )


def _model_config(message: Any) -> ModelConfig:
    scheduling = message.WhichOneof("scheduling_choice")
    return ModelConfig(
        name=message.name,
        backend=message.backend,
        platform=message.platform,
        default_filename=message.default_model_filename,
        signature=signature_of(message),
        document=to_document(message),
        is_ensemble=scheduling == "ensemble_scheduling" or message.platform == "ensemble",
        is_decoupled=message.model_transaction_policy.decoupled,
        is_sequence=scheduling == "sequence_batching",
        members=tuple(dict.fromkeys(step.model_name for step in message.ensemble_scheduling.step)),
    )


def _spec(tensor: Any, *, is_optional: bool = False) -> TensorSpec:
    return TensorSpec(
        name=tensor.name,
        datatype=datatype(tensor.data_type),
        shape=tuple(tensor.dims),
        is_optional=is_optional,
    )


def _telling_part(document: Mapping[str, Any]) -> Any:
    message = to_message(document)
    for field in HARMLESS_FIELDS:
        message.ClearField(field)
    return message


def _line(text: str, line: int, column: int) -> str:
    """What stands there; of a long line what is around the column."""
    lines = text.split("\n")
    if not 0 < line <= len(lines):
        return ""
    start = max(0, column - LINE_CHARS // 2)
    return printable(lines[line - 1][start : start + LINE_CHARS].rstrip(), limit=LINE_CHARS)


def _unparsable(error: text_format.ParseError, text: str) -> ConfigUnparsable:
    line, column = error.GetLine() or 0, error.GetColumn() or 0
    cause, meant = spelling.mend(_PLACE.sub("", str(error)))
    message = f"config.pbtxt, line {line}, column {column}: {printable(cause, limit=SHOWN_CHARS)}"
    shown = _line(text, line, column)
    return ConfigUnparsable(message, line=line, column=column, text=shown, **({"meant": meant} if meant else {}))
