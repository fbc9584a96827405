"""What preflight finds, as people see it."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from apps.common.text import SHOWN_CHARS, printable
from apps.console.shown.links import link
from apps.console.shown.state import Chip
from apps.serving.preflight import Severity

if TYPE_CHECKING:
    from apps.deployments.models import Ban
    from apps.deployments.selectors import Report
    from apps.serving.preflight import Finding

ROWS = 200
SEVERITIES = {
    Severity.ERROR: Chip("! blocks", "bad", "A promotion is refused."),
    Severity.WARNING: Chip("asks", "wait", "A promotion asks whether it is meant."),
    Severity.NOTE: Chip("note", "mute", "Told, and no more."),
}


@dataclass(frozen=True, slots=True)
class FindingRow:
    """One finding; `servers` are those it is about, none when it is about all."""

    chip: Chip
    rule: str
    message: str
    mend: str
    servers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReportPanel:
    """The report for one environment, and which others there are."""

    environment: str
    environments: tuple[str, ...]
    servers: tuple[str, ...]
    rows: tuple[FindingRow, ...]
    more: int
    verdict: Chip
    ban: str
    lift_url: str


def report_panel(report: "Report", environments: tuple[str, ...], *, ban: "Ban | None") -> ReportPanel:
    """What was found, the same about several servers in one row; a ban there stands above every rule."""
    grouped: dict[tuple[str, str], list[Finding]] = {}
    for finding in report.findings:
        grouped.setdefault((finding.rule, _without_server(finding)), []).append(finding)
    rows = tuple(_row(findings) for findings in grouped.values())
    return ReportPanel(
        environment=report.environment,
        environments=environments,
        servers=report.servers,
        rows=rows[:ROWS],
        more=max(0, len(rows) - ROWS),
        verdict=Chip("! banned there", "bad") if ban else _verdict(report),
        ban=printable(f"by {ban.actor}: {ban.reason}", limit=SHOWN_CHARS) if ban else "",
        lift_url=link("lift_ban", ban.pk) if ban else "",
    )


def _without_server(finding: "Finding") -> str:
    return finding.message.replace(finding.server, "") if finding.server else finding.message


def _row(findings: "list[Finding]") -> FindingRow:
    first = findings[0]
    message = first.message if len(findings) == 1 else _of_each(first)
    return FindingRow(
        chip=SEVERITIES[first.severity],
        rule=first.rule,
        message=printable(message, limit=SHOWN_CHARS),
        mend=printable(first.mend, limit=SHOWN_CHARS),
        servers=tuple(one.server for one in findings if one.server),
    )


def _of_each(finding: "Finding") -> str:
    """The message of one server as it is of several, which stand beside it."""
    if not finding.server:
        return finding.message
    return re.sub(rf"(?<![\w.-]){re.escape(finding.server)}(?![\w-])", "each server", finding.message)


def _verdict(report: "Report") -> Chip:
    if report.of(Severity.ERROR):
        return Chip("! cannot go there", "bad")
    if report.of(Severity.WARNING):
        return Chip("would ask", "wait")
    return Chip("fits", "ok") if report.servers else Chip("no server", "mute")
