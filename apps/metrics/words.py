"""What a chart says in words: why it shows nothing, or what to know about what it shows. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from apps.common.names import natural
from apps.metrics.chart import Chart, Words
from apps.serving.signals import Selection

SCRAPES_TO_A_RATE = 2
PATIENCE_SCRAPES = 4
SLACK_S = 5
_NAMED = 3


@dataclass(frozen=True, slots=True)
class Loaded:
    """A version that a server says is ready, and since when."""

    version: str
    since: datetime


def about(words: Words | None, *, servers: Mapping[str, bool], selection: Selection) -> str:
    """The remark for as many servers as there are."""
    if words is None:
        return ""
    return words.one if selection.server or len(servers) == 1 else words.several


def awaited(loaded: Sequence[Loaded], seen: set[str], *, now: datetime, scrape_interval_s: int) -> list[str]:
    """A remark for each version that is loaded and has no series yet."""
    since: dict[str, datetime] = {}
    for one in loaded:
        since[one.version] = min(one.since, since.get(one.version, one.since))
    missing = sorted((version for version in since if version not in seen), key=int)
    return [_missing(version, (now - since[version]).total_seconds(), scrape_interval_s) for version in missing]


def down(servers: Mapping[str, bool]) -> str:
    """Which servers Prometheus cannot scrape; empty when it can scrape all."""
    silent = sorted((name for name, is_up in servers.items() if not is_up), key=natural)
    if not silent:
        return ""
    named = ", ".join(silent[:_NAMED]) + (f" and {len(silent) - _NAMED} more" if len(silent) > _NAMED else "")
    return f"{named} {'does' if len(silent) == 1 else 'do'} not answer Prometheus's scrapes"


def clock(ahead_s: float, *, scrape_interval_s: int) -> str:
    """What a clock that is wrong does to charts; empty while it does nothing that can be seen."""
    if abs(ahead_s) <= max(SLACK_S, SCRAPES_TO_A_RATE * scrape_interval_s):
        return ""
    if ahead_s < 0:
        return f"Prometheus's clock is {-ahead_s:.0f} s behind Conch's: the newest points are missing"
    return f"Prometheus's clock is {ahead_s:.0f} s ahead of Conch's: what is shown as now is that old"


def nothing(chart: Chart, selection: Selection, servers: Mapping[str, bool], *, has_series: bool) -> str:
    """Why there is not one value to draw."""
    if not servers:
        return _not_scraped(selection)
    if not any(servers.values()):
        return down(servers)
    if has_series or not selection.model:
        return chart.idle
    where = selection.server or selection.environment
    return f"no series for {selection.model}{f' in {where}' if where else ''}: it is not loaded there"


def _missing(version: str, age_s: float, scrape_interval_s: int) -> str:
    if age_s < PATIENCE_SCRAPES * scrape_interval_s:
        rest_s = max(1, round(SCRAPES_TO_A_RATE * scrape_interval_s - age_s))
        return f"no series for v{version} yet: first scrape in about {rest_s} s"
    return f"no series for v{version}: loaded {_ago(age_s)} ago, and Prometheus has not seen it"


def _ago(age_s: float) -> str:
    for unit_s, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if age_s >= unit_s:
            return f"{age_s / unit_s:.0f} {unit}"
    return f"{age_s:.0f} s"


def _not_scraped(selection: Selection) -> str:
    if selection.server:
        return f"Prometheus does not scrape {selection.server} yet: it asks Conch for its targets from time to time"
    where = f" of {selection.environment}" if selection.environment else ""
    return f"Prometheus scrapes no server{where} yet: it asks Conch for its targets from time to time"
