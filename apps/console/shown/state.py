"""States as chips: one sign and one tone each, the same on every page. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from apps.common.errors import ControlPlaneError
from apps.common.text import KEPT_CHARS, SHOWN_CHARS, printable


@dataclass(frozen=True, slots=True)
class Chip:
    """A state: what is printed, its tone (ok, busy, warm, wait, bad, mute, stale), and its words."""

    label: str
    tone: str
    says: str = ""
    url: str = ""


@dataclass(frozen=True, slots=True)
class Problem:
    """Why something failed, as kept with the row: from servers and uploads, so already cut.

    `line` is the line of a file that it is about, after its number.
    """

    code: str
    message: str
    hint: str = ""
    reason: str = ""
    line: str = ""


ROLLOUT = {
    "unapproved": ("to be approved", "wait"),
    "paused": ("paused", "wait"),
    "queued": ("queued", "wait"),
    "running": ("moving >", "busy"),
    "reverting": ("putting back >", "busy"),
    "succeeded": ("done", "ok"),
    "rolled_back": ("! rolled back", "bad"),
    "failed": ("! failed", "bad"),
}
VERDICT = {
    "pass": ("passed", "ok"),
    "fail": ("! failed", "bad"),
    "inconclusive": ("inconclusive", "wait"),
    "error": ("could not be asked", "wait"),
    "does_not_apply": ("does not apply", "mute"),
    "skipped": ("skipped", "mute"),
    "": ("not judged yet", "wait"),
    "never": ("not judged", "mute"),
}
STEP = {
    "running": ("running >", "busy"),
    "waiting": ("waiting >", "busy"),
    "succeeded": ("done", "ok"),
    "failed": ("! failed", "bad"),
}
RUN = STEP | {"queued": ("queued", "mute"), "cancelled": ("cancelled", "mute")}
VERSION = {
    "fetching": ("fetching >", "busy"),
    "received": ("received >", "busy"),
    "checking": ("checking >", "busy"),
    "choosing": ("which version?", "wait"),
    "ready": ("ready", "ok"),
    "rejected": ("! rejected", "bad"),
    "archived": ("archived", "mute"),
    "removed": ("bytes removed", "mute"),
}
SERVER = {
    "checking": ("checking >", "busy"),
    "active": ("active", "ok"),
    "refused": ("! refused", "bad"),
    "retired": ("retired", "mute"),
}
OBSERVED = {
    "READY": ("ready", "ok"),
    "LOADING": ("loading >", "busy"),
    "UNLOADING": ("unloading >", "busy"),
    "UNAVAILABLE": ("unavailable", "mute"),
    "UNKNOWN": ("unknown", "wait"),
}
KINDS = {
    "promote": "promote",
    "rollback": "roll back",
    "unload": "unload",
    "retire": "end standby",
    "reconfigure": "reconfigure",
    "heal": "heal",
}


def chip(table: Mapping[str, tuple[str, str]], state: str, *, says: str = "", url: str = "") -> Chip:
    """The chip of `state`; a state the table does not know is shown as it is."""
    label, tone = table.get(state, (state, "wait"))
    return Chip(label, tone, says, url)


def problem(kept: Mapping[str, Any] | None) -> Problem | None:
    """An error kept with a row, None where there is none."""
    if not kept or not (kept.get("message") or kept.get("code")):
        return None
    facts = kept.get("facts")
    reason = kept.get("reason") or (facts.get("reason") if isinstance(facts, Mapping) else "") or ""
    message = printable(str(kept.get("message", "")), limit=SHOWN_CHARS)
    full = printable(str(reason), limit=KEPT_CHARS)
    return Problem(
        code=str(kept.get("code", "")),
        message=message,
        hint=printable(str(kept.get("hint", "")), limit=SHOWN_CHARS),
        reason="" if full.strip() == message.strip() else full,
        line=_line(facts) if isinstance(facts, Mapping) else "",
    )


def _line(facts: Mapping[str, Any]) -> str:
    number, text = facts.get("line"), facts.get("text")
    return f"{number} | {printable(str(text), limit=SHOWN_CHARS)}" if number and text else ""


def problem_of(error: ControlPlaneError) -> Problem:
    """An error that has just been raised."""
    return Problem(error.code, error.message, error.hint)
