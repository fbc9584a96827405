"""Releases as people see them: a line in a list, and the page of one."""

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from apps.common.text import printable
from apps.console.shown.links import link
from apps.console.shown.rollouts import Line, line
from apps.console.shown.state import Chip, Problem, chip, problem
from apps.console.shown.waves import Control, stands
from apps.deployments.selectors import has_ended, release_state

if TYPE_CHECKING:
    from apps.deployments.models import Release

WHY_CHARS = 300
RELEASE = {
    "moving": ("moving >", "busy"),
    "reverting": ("going back >", "busy"),
    "succeeded": ("done", "ok"),
    "rolled_back": ("! rolled back", "bad"),
    "failed": ("! failed", "bad"),
}


@dataclass(frozen=True, slots=True)
class ReleaseLine:
    """One release: what it brings, and how far it is."""

    number: int
    url: str
    environment: str
    chip: Chip
    models: tuple[str, ...]
    actor: str
    reason: str
    began_at: datetime
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class ReleaseDetail:
    """The page of one release."""

    line: ReleaseLine
    phase: str
    rollouts: tuple[Line, ...]
    backs: tuple[Line, ...]
    problem: Problem | None
    turned: str
    stands: str
    controls: tuple[Control, ...]
    abort_url: str
    back_url: str
    is_moving: bool
    ended: str


def release_line(release: "Release") -> ReleaseLine:
    """One release; its rollouts come with their progress."""
    parts = [line(rollout) for rollout in release.rollouts.all() if rollout.kind == "promote"]
    return ReleaseLine(
        number=release.pk,
        url=link("release", release.pk),
        environment=release.environment.name,
        chip=chip(RELEASE, release_state(release)),
        models=tuple(f"{part.model} {part.change}" for part in parts),
        actor=release.actor,
        reason=printable(release.reason, limit=WHY_CHARS),
        began_at=release.created_at,
        done=sum(part.done for part in parts),
        total=sum(part.total for part in parts),
    )


def release_detail(release: "Release", *, may_come_again: bool = False) -> ReleaseDetail:
    """The page: each rollout of the release, what it was sent back with, and what can be done.

    `may_come_again`: something of it has gone back and is not banned.
    """
    state, shown = release_state(release), release_line(release)
    rollouts = [line(rollout) for rollout in release.rollouts.all() if rollout.kind == "promote"]
    moving = [one for one in release.rollouts.all() if one.kind == "promote" and not has_ended(one.state)]
    backs = [line(rollout) for rollout in release.rollouts.all() if rollout.kind != "promote"]
    can_go_back = may_come_again or (state in ("moving", "succeeded") and not backs)
    is_moving = state in ("moving", "reverting") or any(one.chip.tone == "busy" for one in backs)
    return ReleaseDetail(
        line=shown,
        phase=_phase(release, state),
        rollouts=tuple(rollouts),
        backs=tuple(backs),
        problem=problem(release.error) if release.decision == "back" else None,
        turned=_turned(release),
        stands=next((words for one in moving if (words := stands(one))), ""),
        controls=_controls(release.pk, {one.state for one in moving}),
        abort_url=link("abort_release", release.pk) if state == "moving" and not release.decision else "",
        back_url=link("roll_back_release", release.pk) if can_go_back else "",
        is_moving=is_moving,
        ended="" if is_moving else f"release {release.pk}: {shown.chip.label.strip('! >')}",
    )


def _controls(number: int, states: set[str]) -> tuple[Control, ...]:
    """What can be done to all of them at once, by the states they are in."""
    found = []
    if "unapproved" in states:
        found.append(Control("Approve all", link("approve_release", number), is_main=True))
    if states & {"queued", "running"}:
        found.append(Control("Pause all", link("pause_release", number)))
    if "paused" in states:
        found.append(Control("Resume all", link("resume_release", number), is_main=True))
    return tuple(found)


def _phase(release: "Release", state: str) -> str:
    """In words, what happens now."""
    if state == "moving":
        return "all have passed: it is being settled" if release.decision == "go" else "nothing is decided yet"
    if state == "reverting":
        return "one did not pass: all go back"
    return {"succeeded": "switched together", "rolled_back": "gone back together"}.get(state, "ended with failures")


def _turned(release: "Release") -> str:
    if not release.turned_by:
        return ""
    return printable(f"sent back by {release.turned_by}: {release.turned_because}", limit=WHY_CHARS)
