"""Desired minus observed for one server. Pure: same input, same answer; empty when they agree."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from apps.common.names import SHADOW_SUFFIX, shadow_of


class DriftKind(StrEnum):
    """How a server can differ from what is desired there."""

    MISSING = "missing"
    WRONG_SET = "wrong_set"
    FAILED = "failed"
    LOADING = "loading"
    STUCK = "stuck"
    RESTARTED = "restarted"
    WRONG_CONFIG = "wrong_config"
    EXTRA = "extra"
    UNREACHABLE = "unreachable"


K = DriftKind
# What loading the desired versions again can mend.
HEALABLE = frozenset({K.MISSING, K.WRONG_SET, K.FAILED, K.RESTARTED, K.WRONG_CONFIG})
# It serves all the same.
SERVING = frozenset({K.EXTRA, K.WRONG_CONFIG})
# States that last as long as something goes on; of these alone it matters since when.
BUSY = ("LOADING", "UNLOADING")
# A load that is under way is nobody's alarm.
PASSING = frozenset({K.LOADING})


@dataclass(frozen=True, slots=True)
class Desired:
    """The versions of one model that should be loaded, `under` which overlay; clients are meant for `active`."""

    versions: frozenset[int]
    active: int | None = None
    load_deadline_s: int = 300
    under: str = ""


@dataclass(frozen=True, slots=True)
class Sight:
    """One version as last seen: its state, since when where it is BUSY, and whether it has started anew without Conch.

    `under` is the digest of the overlay that Conch loaded it under, empty where that is not known.
    """

    state: str
    reason: str = ""
    since: datetime | None = None
    has_restarted: bool = False
    under: str = ""


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing in which a server differs from what is desired there; version 0 where no single one is meant."""

    model: str
    version: int
    kind: str
    reason: str = field(default="", compare=False)

    @property
    def key(self) -> tuple[str, int, str]:
        """What makes it the same difference when it is seen again."""
        return self.model, self.version, self.kind

    @property
    def owner(self) -> str:
        """The placed model it belongs to: a shadow is its model's."""
        return self.model.removesuffix(SHADOW_SUFFIX)


Seen = Mapping[str, Mapping[int, Sight]]


def drift(desired: Mapping[str, Desired], observed: Seen, *, now: datetime | None = None) -> list[Difference]:
    """Desired minus observed for one server.

    `desired` maps each model that Conch has placed to what should be loaded; with nothing desired, whatever is
    loaded is extra. Models Conch has not placed are nobody's drift.
    """
    found: list[Difference] = []
    for model, wanted in sorted(desired.items()):
        seen = observed.get(model, {})
        found += _hanging(model, seen, wanted, now)
        found += _hanging(shadow_of(model), observed.get(shadow_of(model), {}), wanted, now)
        found += _of_model(model, wanted, seen)
    told: dict[tuple[str, int], Difference] = {}
    for each in found:
        told.setdefault((each.model, each.version), each)
    return list(told.values())


def lacking(brought: Mapping[str, Desired], observed: Seen, *, now: datetime | None = None) -> list[Difference]:
    """What one server lacks of what a rollout has brought it, while that moves others; what it has beside is spared."""
    return [each for each in drift(brought, observed, now=now) if each.version in brought[each.owner].versions]


def _of_model(model: str, wanted: Desired, seen: Mapping[int, Sight]) -> Iterator[Difference]:
    ready = {version for version, sight in seen.items() if sight.state == "READY"}
    extra = sorted(ready - wanted.versions)
    for version in sorted(wanted.versions):
        sight = seen.get(version, Sight(""))
        kind = _kind(sight, wanted, has_extra=bool(extra))
        if kind is not None:
            yield Difference(model, version, kind, sight.reason)
    for version in extra:
        yield _unasked(model, version, wanted.active)


def _unasked(model: str, version: int, active: int | None) -> Difference:
    """An unversioned request goes to the highest version loaded: above the active one it gets them all."""
    if active is None or version < active:
        return Difference(model, version, K.EXTRA)
    return Difference(model, version, K.WRONG_SET, f"loaded above {active}, so clients get it instead")


def _kind(sight: Sight, wanted: Desired, *, has_extra: bool) -> DriftKind | None:
    if sight.state == "READY":
        is_under_another = bool(sight.under and wanted.under) and sight.under != wanted.under
        return K.RESTARTED if sight.has_restarted else K.WRONG_CONFIG if is_under_another else None
    if sight.state in BUSY:
        return K.LOADING if sight.state == "LOADING" else K.MISSING
    if sight.state and sight.reason not in ("", "unloaded"):
        return K.FAILED
    return K.WRONG_SET if has_extra else K.MISSING


def _hanging(model: str, seen: Mapping[int, Sight], wanted: Desired, now: datetime | None) -> Iterator[Difference]:
    """Loads and unloads that have gone on for longer than the model is given: only a restart ends them."""
    deadline = timedelta(seconds=wanted.load_deadline_s)
    for version, sight in sorted(seen.items()):
        is_busy = sight.state in BUSY and sight.since is not None
        if is_busy and now is not None and sight.since is not None and now - sight.since > deadline:
            yield Difference(model, version, K.STUCK, f"{sight.state} for over {wanted.load_deadline_s} s")
