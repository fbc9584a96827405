"""What is known of a version and of a server before one meets the other, and what rules say of it. Pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

# Stands for a server's name while servers of which the same is known are looked at as one; in no server's own name.
ANY_OF_THEM = "\ue000"


class Severity(StrEnum):
    """What a finding does: an error blocks, a warning asks, a note is told."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class PythonSource:
    """What a python model's source says of itself, read but never run.

    `problem` is why it cannot be read; `has_class` is None where only running it would tell.
    """

    problem: str = ""
    has_class: bool | None = None
    methods: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What is known of one server; None is "not known", never "none".

    `backends` are those somebody declared, `seen` those that have served there, `missing` those the server
    said it lacks. Sizes are in bytes. `publishes`: the version's files are still to be written where it reads them.
    """

    name: str
    version: str = ""
    backends: frozenset[str] | None = None
    seen: frozenset[str] = frozenset()
    missing: frozenset[str] = frozenset()
    gpus: int | None = None
    memory_bytes: int | None = None
    publishes: bool = False
    free_disk_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class LiveMember:
    """A model an ensemble calls, as it is placed where the ensemble would go."""

    document: Mapping[str, Any]
    versions: frozenset[int]

    @property
    def calls(self) -> tuple[str, ...]:
        """The models it calls, when it is an ensemble itself."""
        steps = self.document.get("ensemble_scheduling", {}).get("step", ())
        return tuple(str(step.get("model_name", "")) for step in steps)


@dataclass(frozen=True, slots=True)
class SharedElsewhere:
    """A file beside the version directories that two versions of a model have, of other content in each."""

    path: str
    version: int


@dataclass(frozen=True, slots=True)
class Subject:
    """A version as rules see it, and the server it would go to, if any.

    `files` are sizes by path relative to the model's directory, the version's own under `version/`.
    `members` are the models that are placed beside it by name, and those they call; `shared` the files in which it
    differs from versions that are placed there. None where nobody looked.
    """

    model: str
    document: Mapping[str, Any]
    files: Mapping[str, int] | None = None
    source: PythonSource | None = None
    members: Mapping[str, LiveMember] | None = None
    shared: tuple[SharedElsewhere, ...] | None = None
    server: ServerFacts | None = None

    @property
    def at(self) -> ServerFacts:
        """The server, for rules that need one."""
        if self.server is None:
            raise ValueError(f"{self.model} is not looked at for any server")
        return self.server

    def get(self, path: str, default: Any = None) -> Any:
        """A value of the configuration by dotted path."""
        value: Any = self.document
        for name in path.split("."):
            if not isinstance(value, Mapping) or name not in value:
                return default
            value = value[name]
        return value


@dataclass(frozen=True, slots=True)
class Fault:
    """One place in which a rule is broken."""

    message: str
    field: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing that must hold: what, why, and how to mend it.

    `check` yields a Fault for each place where it does not; it is asked only when what it `needs` is known.
    """

    id: str
    severity: Severity
    what: str
    why: str
    mend: str
    check: Callable[[Subject], Iterable[Fault]]
    needs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReadingRule:
    """One thing without which a configuration is none: `check` is given it as its format's own library read it."""

    id: str
    what: str
    why: str
    mend: str
    check: Callable[[Any], Iterable[Fault]]


@dataclass(frozen=True, slots=True)
class Finding:
    """A broken rule in one place; `server` is empty where it would be so on any."""

    rule: str
    severity: Severity
    message: str
    mend: str
    field: str = ""
    server: str = ""

    def document(self) -> dict[str, str]:
        """As facts of an error and as rows keep it."""
        return {
            "rule": self.rule,
            "severity": str(self.severity),
            "message": self.message,
            "mend": self.mend,
            "field": self.field,
            "server": self.server,
        }


def examine(rules: Iterable[Rule], subject: Subject) -> tuple[Finding, ...]:
    """Every finding of every rule whose needs are known, errors first."""
    found = [
        Finding(rule.id, rule.severity, fault.message, rule.mend, fault.field, _server_of(rule, subject))
        for rule in rules
        if all(getattr(subject, need) is not None for need in rule.needs)
        for fault in rule.check(subject)
    ]
    return _sorted(found)


def examine_on(rules: Sequence[Rule], subject: Subject, servers: Iterable[ServerFacts]) -> tuple[Finding, ...]:
    """As `examine`, of the version itself and then on each server: a fleet costs as many looks as it has kinds."""
    found = dict.fromkeys(examine(rules, replace(subject, server=None)))
    return _sorted([*found, *_on_each([rule for rule in rules if "server" in rule.needs], subject, servers)])


def _on_each(rules: Sequence[Rule], subject: Subject, servers: Iterable[ServerFacts]) -> Iterator[Finding]:
    told: dict[ServerFacts, dict[Finding, None]] = {}
    for server in servers:
        kind = replace(server, name=ANY_OF_THEM)
        if kind not in told:
            told[kind] = dict.fromkeys(examine(rules, replace(subject, server=kind)))
        for one in told[kind]:
            yield replace(one, message=one.message.replace(ANY_OF_THEM, server.name), server=server.name)


def _sorted(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """Errors first, then by server; what is said of the version itself before what is said of servers."""
    order = list(Severity)
    return tuple(sorted(found, key=lambda one: (order.index(one.severity), one.server)))


def _server_of(rule: Rule, subject: Subject) -> str:
    return subject.server.name if subject.server is not None and "server" in rule.needs else ""
