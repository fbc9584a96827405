"""What a server should serve beside what it was last seen to serve."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from apps.common.names import SHADOW_SUFFIX
from apps.common.text import KEPT_CHARS, printable
from apps.console.shown.links import link
from apps.console.shown.state import OBSERVED, Chip, chip
from apps.serving import backends

if TYPE_CHECKING:
    from apps.deployments.selectors import Wanted
    from apps.fleet.models import ObservedVersion


@dataclass(frozen=True, slots=True)
class VersionRow:
    """One model version on a server: what is wanted beside what was seen."""

    model: str
    model_url: str
    version: int
    version_url: str
    desired: Chip
    observed: Chip
    verdict: Chip
    reason: str
    since: datetime | None
    meaning: str = ""
    hint: str = ""
    back_url: str = ""


def as_last_seen(row: VersionRow) -> VersionRow:
    """What was true when the server last answered is no verdict on what it holds now: marked, never green."""
    observed, verdict = (
        replace(one, label=f"{one.label}?", tone="stale", says="as last seen") if one.tone in ("ok", "mute") else one
        for one in (row.observed, row.verdict)
    )
    return replace(row, observed=observed, verdict=verdict)


def version_rows(
    observed: Sequence["ObservedVersion"], desired: Iterable["Wanted"], environment: str, *, most: int | None
) -> tuple[list[VersionRow], int]:
    """What is wanted there or was seen there, what is wrong first, no more than `most`; and how many more there are."""
    roles: dict[tuple[str, int], str] = {}
    ways_back: dict[tuple[str, int], str] = {}
    for one in desired:
        if one.has_way_back and one.active is not None:
            ways_back[one.model, one.active] = link("roll_back", one.model, environment)
        for number, role in ((one.active, "active"), (one.standby, "standby")):
            if number is not None:
                roles[one.model, number] = role
    seen = {(row.model, row.version): row for row in observed if not row.model.endswith(SHADOW_SUFFIX)}
    known = {model for model, _ in roles}
    verdicts = {
        key: _verdict(roles.get(key, ""), seen[key].state if key in seen else "", is_known=key[0] in known)
        for key in {*roles, *seen}
    }
    order = sorted(verdicts, key=lambda key: (verdicts[key].tone != "bad", *key))
    rows = [
        _row(
            key,
            roles.get(key, ""),
            seen.get(key),
            verdicts[key],
            is_known=key[0] in known,
            back_url=ways_back.get(key, ""),
        )
        for key in order[:most]
    ]
    return rows, len(order) - len(rows)


def _row(
    key: tuple[str, int],
    role: str,
    seen: "ObservedVersion | None",
    verdict: Chip,
    *,
    is_known: bool,
    back_url: str,
) -> VersionRow:
    model, version = key
    state = seen.state if seen else ""
    return VersionRow(
        model=model,
        model_url=link("model", model) if is_known else "",
        version=version,
        version_url=link("version", model, version) if is_known else "",
        desired=_desired(role),
        observed=chip(OBSERVED, state) if state else Chip("–", "mute", "not in the server's index"),
        verdict=verdict,
        reason=printable(seen.reason if seen else "", limit=KEPT_CHARS),
        since=seen.since if seen else None,
        back_url=back_url,
    )


def explained(row: VersionRow, kind: str) -> VersionRow:
    """With what the server's words mean and the way out, where they are of a known kind."""
    found = backends.get(kind).CONFIG.explain(row.reason) if row.reason and row.observed.tone != "ok" else None
    return replace(row, meaning=found.meaning, hint=found.hint) if found else row


def _desired(role: str) -> Chip:
    if role == "active":
        return Chip("active", "ok")
    return Chip("+ standby", "warm") if role == "standby" else Chip("–", "mute", "not wanted here")


def _verdict(role: str, state: str, *, is_known: bool) -> Chip:
    if role:
        return Chip("as desired", "ok") if state == "READY" else Chip("! drift", "bad", "wanted here, not ready")
    if state == "READY":
        return Chip("! extra", "bad", "loaded, not wanted") if is_known else Chip("not Conch's", "wait")
    return Chip("off", "mute")
