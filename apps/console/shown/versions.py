"""Versions as people see them: a row in a table, and the whole page."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.utils import timezone

from apps.common.estimate import Estimate
from apps.common.text import KEPT_CHARS, SHOWN_CHARS, printable
from apps.console.shown.links import link
from apps.console.shown.rollouts import back_url
from apps.console.shown.state import STEP, VERSION, Chip, Problem, chip, problem
from apps.console.shown.steps import golden, latencies
from apps.console.shown.words import count
from apps.registry.estimating import all_here, rate_bytes_s

if TYPE_CHECKING:
    from apps.deployments.models import Ban, Placement, Rollout, StepRun
    from apps.deployments.selectors import Shadows
    from apps.registry.models import Version

MOVING = frozenset({"fetching", "received", "checking"})
FILES = 200


@dataclass(frozen=True, slots=True)
class VersionLine:
    """One version in a model's table."""

    number: int
    url: str
    chip: Chip
    digest: str
    size_bytes: int
    backend: str
    created_at: datetime
    created_by: str
    git_commit: str
    notes: str
    live: tuple[Chip, ...]
    aliases: tuple[str, ...]
    promote_url: str
    remove_url: str
    compare_url: str
    checks: str
    why: str


@dataclass(frozen=True, slots=True)
class Shadow:
    """How a version did aside on one server, before any client was sent to it."""

    server: str
    rollout: int
    rollout_url: str
    at: datetime
    chip: Chip
    latencies: str
    golden: str
    said: str
    problem: Problem | None


@dataclass(frozen=True, slots=True)
class VersionPage:
    """A version's whole page."""

    line: VersionLine
    filename: str
    source: str
    received_bytes: int | None
    expected_bytes: int | None
    rate_bytes_s: int | None
    left: Estimate
    choices: tuple[str, ...]
    choose_until: datetime | None
    config_text: str
    files: tuple[tuple[str, int, str], ...]
    more_files: int
    unpacked_bytes: int | None
    remarks: tuple[str, ...]
    problem: Problem | None
    ready_at: datetime | None
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    max_batch_size: int
    shadows: tuple[Shadow, ...]
    more_shadows: tuple[tuple[str, str], ...]
    is_served: bool
    is_moving: bool
    is_checking: bool
    ended: str
    ways_back: tuple[tuple[str, str], ...]


def version_line(
    version: "Version",
    placements: Iterable["Placement"],
    aliases: Mapping[int, Iterable[str]],
    bans: Iterable["Ban"] = (),
) -> VersionLine:
    """One row; placements, aliases and the bans in force are those of its model."""
    model = version.model.name
    return VersionLine(
        number=version.number,
        url=link("version", model, version.number),
        chip=chip(VERSION, version.state),
        digest=version.digest,
        size_bytes=version.size_bytes,
        backend=printable(version.backend, limit=60),
        created_at=version.created_at,
        created_by=version.created_by,
        git_commit=printable(version.git_commit, limit=64),
        notes=printable(version.notes, limit=SHOWN_CHARS),
        live=(*_live(version, placements), *_banned(version, bans)),
        aliases=tuple(aliases.get(version.pk, ())),
        promote_url=link("promote_version", model, version.number) if version.state == "ready" else "",
        remove_url=link("remove_bytes", model, version.number) if version.state == "archived" else "",
        compare_url=link("compare", model, version.number) if version.artifact_id else "",
        checks=_checks(version),
        why=str((version.error or {}).get("title") or (version.error or {}).get("code") or ""),
    )


def _checks(version: "Version") -> str:
    """What the checks of its bytes came to; how it does on servers is preflight's, for each environment."""
    if version.state in MOVING:
        return "not yet"
    if version.state == "rejected":
        return "! refused"
    return f"passed, {count(len(version.remarks), 'remark')}" if version.remarks else "passed"


def _live(version: "Version", placements: Iterable["Placement"]) -> Iterable[Chip]:
    for placement in placements:
        where = placement.environment.name
        if placement.active_id == version.pk:
            yield Chip(where, "ok", f"live in {where}")
        elif placement.standby_id == version.pk:
            yield Chip(f"+ {where}", "warm", f"kept hot in {where}")


def _banned(version: "Version", bans: Iterable["Ban"]) -> Iterable[Chip]:
    for ban in bans:
        if ban.version_id == version.pk:
            where = ban.placement.environment.name
            says = printable(f"banned in {where} by {ban.actor}: {ban.reason}", limit=SHOWN_CHARS)
            yield Chip(f"! banned in {where}", "bad", says, link("lift_ban", ban.pk))


def version_page(
    version: "Version",
    *,
    placements: Iterable["Placement"],
    aliases: Mapping[int, Iterable[str]],
    rollouts: Iterable["Rollout"],
    shadows: "Shadows",
    bans: Iterable["Ban"],
    is_served: bool,
) -> VersionPage:
    """Everything about one version, with the rollouts to it, newest first. `is_served`: some server has it ready."""
    artifact, signature = version.artifact, version.signature or {}
    files = artifact.files if artifact else []
    is_moving = version.state in MOVING
    fetch = getattr(version, "fetch", None) if version.state == "fetching" else None
    shown = version_line(version, placements, aliases, bans)
    return VersionPage(
        line=shown,
        filename=printable(version.filename, limit=255),
        source=printable(version.source, limit=SHOWN_CHARS),
        received_bytes=fetch.received_bytes if fetch else None,
        expected_bytes=fetch.size_bytes if fetch else None,
        **_pace(version),
        choices=tuple(version.choices),
        choose_until=version.choose_until,
        config_text=printable(version.config_text, limit=KEPT_CHARS),
        files=tuple((str(f["path"]), int(f["size_bytes"]), str(f["sha256"])) for f in files[:FILES]),
        more_files=max(0, len(files) - FILES),
        unpacked_bytes=artifact.unpacked_bytes if artifact else None,
        remarks=tuple(printable(_remark(one), limit=SHOWN_CHARS) for one in version.remarks),
        problem=problem(version.error),
        ready_at=version.ready_at,
        inputs=tuple(_tensor(one) for one in signature.get("inputs", ())),
        outputs=tuple(_tensor(one) for one in signature.get("outputs", ())),
        max_batch_size=int(signature.get("max_batch_size") or 0),
        shadows=tuple(_shadow(step) for step in shadows.steps),
        more_shadows=tuple(_more(shadows)),
        is_served=is_served,
        is_moving=is_moving,
        is_checking=version.state == "checking",
        ended="" if is_moving else f"{version.model.name} version {version.number}: {version.state}",
        ways_back=tuple(dict(_ways_back(rollouts)).items()),
    )


def _pace(version: "Version") -> dict[str, Any]:
    """How fast its bytes come and when all are here."""
    fetch = getattr(version, "fetch", None) if version.state == "fetching" else None
    if fetch is None:
        return {"rate_bytes_s": None, "left": Estimate()}
    times = {"began_at": version.created_at, "moved_at": fetch.moved_at}
    rate = rate_bytes_s(fetch.received_bytes, **times)
    left = all_here(fetch.received_bytes, fetch.size_bytes, **times, now=timezone.now())
    return {"rate_bytes_s": None if rate is None else round(rate), "left": left}


def _ways_back(rollouts: Iterable["Rollout"]) -> Iterable[tuple[str, str]]:
    """Where it is live and came instead of another: the environment, and where that is undone."""
    for rollout in rollouts:
        if rollout.kind == "promote" and (url := back_url(rollout)):
            yield rollout.placement.environment.name, url


def _remark(remark: object) -> str:
    if isinstance(remark, Mapping):
        return str(remark.get("message") or remark.get("text") or dict(remark))
    return str(remark)


def _tensor(tensor: Mapping[str, Any]) -> str:
    optional = " (optional)" if tensor.get("is_optional") else ""
    return f"{tensor.get('name')} {tensor.get('datatype')} {list(tensor.get('shape', ()))}{optional}"


def _more(shadows: "Shadows") -> Iterable[tuple[str, str]]:
    """In words, and where they are: `47 done in rollout 12`."""
    for (rollout, state), number in sorted(shadows.more.items(), reverse=True):
        yield f"{number} {chip(STEP, state).label.strip('! >')} in rollout {rollout}", link("rollout", rollout)


def _shadow(step: "StepRun") -> Shadow:
    detail: Mapping[str, Any] = step.detail or {}
    return Shadow(
        server=step.run.server.name,
        rollout=step.run.rollout_id,
        rollout_url=link("rollout", step.run.rollout_id),
        at=step.started_at,
        chip=chip(STEP, step.state),
        latencies=latencies(detail.get("latencies_us")),
        golden=golden(detail.get("golden")),
        said=printable(str(detail.get("remark") or ""), limit=SHOWN_CHARS),
        problem=problem(step.error),
    )
