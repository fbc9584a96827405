"""Where a rollout stands between its waves, and what can be done with it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from apps.common.text import printable
from apps.console.shown.gates import GateLine
from apps.console.shown.links import link

if TYPE_CHECKING:
    from apps.deployments.models import Rollout

SAID_CHARS = 400


@dataclass(frozen=True, slots=True)
class Control:
    """A button of a moving rollout."""

    label: str
    url: str
    is_main: bool = False


def wave_words(rollout: "Rollout") -> str:
    """`wave 2/3`, with `baking` while it bakes; empty where there is one wave and no bake."""
    waves = len(rollout.plan.get("waves", ())) or 1
    bakes = "baking" if rollout.baking_since else ""
    if waves == 1:
        return bakes
    return f"wave {min(rollout.wave + 1, waves)}/{waves}" + (f", {bakes}" if bakes else "")


def stands(rollout: "Rollout") -> str:
    """Why it does not go on by itself; empty while it does."""
    if rollout.state == "unapproved":
        return f"Somebody else than {rollout.actor} must approve before anything begins."
    if rollout.state == "paused":
        return f"Paused by {rollout.paused_by}: {printable(rollout.pause_reason, limit=SAID_CHARS)}"
    return ""


def controls(rollout: "Rollout", gates: Iterable[GateLine], *, has_failed: bool) -> tuple[Control, ...]:
    """What may be done now; the abort button stands beside them."""
    if not rollout.goes_in_waves:
        return ()
    found = []
    if rollout.state == "unapproved":
        found.append(Control("Approve", link("approve", rollout.pk), is_main=True))
    if rollout.state in ("queued", "running"):
        found.append(Control("Pause", link("pause", rollout.pk)))
    if rollout.state == "paused":
        found.append(Control("Resume", link("resume", rollout.pk), is_main=True))
    if rollout.state in ("running", "paused"):
        if has_failed:
            found.append(Control("Retry a server", link("retry", rollout.pk)))
        if any(not gate.is_skipped for gate in gates):
            found.append(Control("Skip a gate", link("skip_gate", rollout.pk)))
    return tuple(found)
