"""Whether a version fits the servers it is asked for: errors block, warnings ask."""

from collections.abc import Collection, Mapping, Sequence

from apps.deployments.errors import PreflightFailed, PreflightWarnings
from apps.deployments.selectors.reports import report
from apps.fleet.models import Server
from apps.registry.models import Version
from apps.serving.preflight import Finding, Severity

SHOWN = 3


def require_fit(
    version: Version,
    environment: str,
    servers: Sequence[Server],
    *,
    confirm: Collection[str],
    coming: Mapping[str, int] | None = None,
) -> None:
    """PreflightFailed or PreflightWarnings with every finding; nothing when all is well or confirmed.

    `coming` are the models and versions that go live together with it.
    """
    found = report(version, environment, servers, coming=coming)
    if errors := found.of(Severity.ERROR):
        raise PreflightFailed(_told(version, errors), hint=errors[0].mend, findings=_documents(errors))
    warnings = found.of(Severity.WARNING)
    if warnings and "warnings" not in confirm:
        raise PreflightWarnings(_told(version, warnings), findings=_documents(warnings))


def _told(version: Version, findings: Sequence[Finding]) -> str:
    shown = "; ".join(dict.fromkeys(finding.message for finding in findings[:SHOWN]))
    more = f" (and {len(findings) - SHOWN} more)" if len(findings) > SHOWN else ""
    return f"{version}: {shown}{more}"


def _documents(findings: Sequence[Finding]) -> list[dict[str, str]]:
    return [finding.document() for finding in findings]
