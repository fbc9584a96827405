"""Servers as people see them: a line in a list, and a page with all that is known of one."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from apps.common.text import SHOWN_CHARS, printable
from apps.console.shown.links import link
from apps.console.shown.served import VersionRow, as_last_seen, explained, version_rows
from apps.console.shown.state import SERVER, Chip, Problem, chip, problem
from apps.console.shown.words import listed

if TYPE_CHECKING:
    from apps.deployments.models import Drift
    from apps.deployments.selectors import InService, Wanted
    from apps.fleet.models import ObservedVersion, Server

STALE_AFTER = timedelta(seconds=30)
DRIFT_WORDS = {
    "missing": "! missing",
    "wrong_set": "! wrong version",
    "failed": "! failed",
    "stuck": "! stuck",
    "restarted": "! restarted",
    "wrong_config": "! old configuration",
    "extra": "extra",
    "unreachable": "! no answer",
}


@dataclass(frozen=True, slots=True)
class ServerLine:
    """One server in a list."""

    name: str
    url: str
    environment: str
    repository: str
    grpc: str
    chip: Chip
    seen: Chip
    seen_at: datetime | None
    reason: str
    server_version: str
    is_moving: bool


@dataclass(frozen=True, slots=True)
class DriftLine:
    """One difference from what is desired: since when, and what is done about it."""

    server: str
    url: str
    environment: str
    what: str
    chip: Chip
    since: datetime
    why_not: str
    next_try_at: datetime | None


@dataclass(frozen=True, slots=True)
class ServerPage:
    """A server's whole page."""

    line: ServerLine
    rows: tuple[VersionRow, ...]
    more_rows: int
    problem: Problem | None
    warnings: tuple[Problem, ...]
    cordoned_at: datetime | None
    cordon_reason: str
    asked_at: datetime | None
    state: str
    drift: tuple[DriftLine, ...] = ()
    service: Chip | None = None
    restarted_at: datetime | None = None
    is_asked_to_reconcile: bool = False
    not_ready: Problem | None = None

    @property
    def is_said(self) -> bool:
        """Whether it is said already why it is not in service: it does not answer."""
        return bool(self.line.reason) and self.line.seen.tone == "bad"


def server_line(server: "Server", now: datetime) -> ServerLine:
    """One server in a list; its observation comes with it."""
    observation = getattr(server, "observation", None)
    return ServerLine(
        name=server.name,
        url=link("server", server.name),
        environment=server.environment.name,
        repository=server.repository.name,
        grpc=server.grpc,
        chip=Chip("cordoned", "wait", server.cordon_reason) if _is_cordoned(server) else chip(SERVER, server.state),
        seen=_seen(server, now),
        seen_at=observation.seen_at if observation else None,
        reason=printable(observation.reason if observation else "", limit=SHOWN_CHARS),
        server_version=printable(observation.server_version if observation else "", limit=80),
        is_moving=server.state == "checking",
    )


def _is_cordoned(server: "Server") -> bool:
    return server.state == "active" and server.cordoned_at is not None


def _seen(server: "Server", now: datetime) -> Chip:
    observation = getattr(server, "observation", None)
    if server.state in ("retired", "refused", "checking"):
        return Chip("–", "mute", "not observed")
    if observation is None or observation.seen_at is None:
        return Chip("not seen yet", "stale")
    if not observation.is_reachable:
        return Chip("! no answer", "bad", observation.code)
    if now - observation.seen_at > STALE_AFTER:
        return Chip("not seen lately", "stale", "Conch itself has not asked: is a worker running?")
    return Chip("answers", "ok")


def server_page(
    server: "Server",
    *,
    observed: Iterable["ObservedVersion"],
    wanted: Iterable["Wanted"],
    drift: Iterable["Drift"],
    service: "InService",
    now: datetime,
    most_rows: int | None,
) -> ServerPage:
    """Everything about one server; of its rows the first `most_rows`, or all."""
    seen = list(observed)
    rows, more_rows = version_rows(seen, wanted, server.environment.name, most=most_rows)
    observation = getattr(server, "observation", None)
    finding: Mapping[str, Any] = server.finding or {}
    line = server_line(server, now)
    if line.seen.tone != "ok":
        rows = [as_last_seen(row) for row in rows]
    return ServerPage(
        line=line,
        rows=tuple(explained(row, server.kind) for row in rows),
        more_rows=more_rows,
        problem=problem(finding) if server.state in ("refused", "checking") else None,
        warnings=tuple(_warnings(finding)),
        cordoned_at=server.cordoned_at if _is_cordoned(server) else None,
        cordon_reason=printable(server.cordon_reason, limit=SHOWN_CHARS),
        asked_at=observation.at if observation else None,
        state=server.state,
        drift=tuple(drift_line(row) for row in drift),
        service=_service(service) if server.state == "active" else None,
        restarted_at=observation.restarted_at if observation else None,
        is_asked_to_reconcile=server.reconcile_asked_at is not None,
        not_ready=_not_ready(server, seen) if server.state == "active" else None,
    )


def _not_ready(server: "Server", seen: Sequence["ObservedVersion"]) -> Problem | None:
    """Of a strict server that answers, loads nothing, and still says that it is not ready: why, and the way out."""
    observation = getattr(server, "observation", None)
    if observation is None or not observation.is_reachable or observation.is_ready is not False:
        return None
    if any(row.state in ("LOADING", "UNLOADING") for row in seen):
        return None
    failed = listed([f"{row.model} {row.version}" for row in seen if row.state != "READY" and _has_failed(row.reason)])
    why = f"a load of {failed} failed" if failed else "a load failed, and its model is not in the index any more"
    cure = f"A good load of the same name and number{f' ({failed})' if failed else ''}"
    return Problem(
        "server_not_ready",
        f"{server.name} answers 400 at /v2/health/ready though it loads nothing: {why}. Whatever asks there, such as a "
        "load balancer, leaves it out; the versions that are READY answer all the same.",
        f"{cure} or a restart ends it: restart it when convenient, best with --strict-readiness=false, and what is "
        "desired is loaded again by itself. Rolling back, unloading and deleting the files do not.",
    )


def _has_failed(reason: str) -> bool:
    return reason not in ("", "unloaded")


def _service(found: "InService") -> Chip:
    if found.is_in_service:
        return Chip("in service", "stale" if found.is_stale else "ok", "it serves everything that it should")
    return Chip("! not in service", "bad", "; ".join(printable(reason, limit=200) for reason in found.reasons[:3]))


def drift_line(row: "Drift") -> DriftLine:
    """One kept difference in a list."""
    return DriftLine(
        server=row.server.name,
        url=link("server", row.server.name),
        environment=row.server.environment.name,
        what=f"{row.model} {row.version}" if row.model else "the whole server",
        chip=Chip(DRIFT_WORDS.get(row.kind, row.kind), "wait" if row.kind == "extra" else "bad"),
        since=row.since,
        why_not=printable(row.why_not, limit=SHOWN_CHARS),
        next_try_at=row.next_try_at,
    )


def _warnings(finding: Mapping[str, Any]) -> Iterable[Problem]:
    for warning in finding.get("warnings", ()):
        if isinstance(warning, Mapping):
            if (shown := problem(warning)) is not None:
                yield shown
        else:
            yield Problem("", printable(str(warning), limit=SHOWN_CHARS))
