"""What is kept of a server's index: only what a row can hold."""

from dataclasses import dataclass
from pathlib import Path
from typing import cast

from apps.fleet import probe
from apps.fleet.repositories.posix import Directory
from apps.serving.errors import ServerFailed
from apps.serving.protocol import IndexEntry, Readiness, ServerInfo, ServingBackend, Statistics


@dataclass
class Odd:
    """A server whose index holds these lines."""

    lines: tuple[IndexEntry, ...]

    def describe(self, *, at_most_s_old: float = 0.0) -> ServerInfo:
        return ServerInfo(name="odd", version="2", extensions=())

    def index(self) -> tuple[IndexEntry, ...]:
        return self.lines

    def is_server_ready(self, *, at_most_s_old: float = 0.0) -> bool:
        return True

    def statistics(self, model: str = "") -> tuple[Statistics, ...]:
        raise ServerFailed("odd: a model went away meanwhile")


def test_a_line_that_no_row_can_hold_costs_no_other(tmp_path: Path) -> None:
    good = IndexEntry("m", 1, Readiness.READY, "")
    odd = [
        IndexEntry("m", 2**63, Readiness.READY, ""),
        IndexEntry("m\x00", 1, Readiness.READY, ""),
        IndexEntry("m" * 256, 1, Readiness.READY, ""),
        IndexEntry("m", None, Readiness.UNKNOWN, ""),
    ]

    seen = probe.look(cast(ServingBackend, Odd((*odd, good))), home=Directory(str(tmp_path), {}))

    assert seen.entries == (good,)


def test_a_try_that_was_let_go_is_not_kept_and_one_that_failed_or_hangs_is(tmp_path: Path) -> None:
    let_go = [
        IndexEntry("m.shadow", 1, Readiness.UNAVAILABLE, "unloaded"),
        IndexEntry("m.shadow", 2, Readiness.UNAVAILABLE, ""),
    ]
    kept = (
        IndexEntry("m", 1, Readiness.UNAVAILABLE, "unloaded"),
        IndexEntry("m.shadow", 3, Readiness.UNAVAILABLE, "no such file"),
        IndexEntry("m.shadow", 4, Readiness.UNLOADING, ""),
    )

    seen = probe.look(cast(ServingBackend, Odd((*let_go, *kept))), home=Directory(str(tmp_path), {}))

    assert seen.entries == kept


def test_counters_that_cannot_be_read_are_unknown_and_cost_nothing_else(tmp_path: Path) -> None:
    good = IndexEntry("m", 1, Readiness.READY, "")

    seen = probe.look(cast(ServingBackend, Odd((good,))), home=Directory(str(tmp_path), {}))

    assert (seen.entries, seen.counters) == ((good,), None)
