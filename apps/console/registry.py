"""Model pages: what may be served, and all about one model and one version."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from apps.common.text import whole_number
from apps.console import history
from apps.console.door import Later, Part, live_page, page, unwell
from apps.console.ranges import board, chosen_range
from apps.console.shown.comparisons import comparison_page
from apps.console.shown.matrix import as_seen
from apps.console.shown.models import Card, cards, model_lines, slo_of
from apps.console.shown.reports import ReportPanel, report_panel
from apps.console.shown.rollouts import Line, line
from apps.console.shown.samples import sample_lines
from apps.console.shown.versions import VersionLine, version_line, version_page
from apps.deployments import selectors as deployments
from apps.fleet import selectors as fleet
from apps.metrics.catalogue import Page
from apps.registry import selectors as registry

if TYPE_CHECKING:
    from apps.deployments.models import Placement, Probe, Rollout
    from apps.registry.models import Model, Version

ROWS = 50
VERSIONS = 15
HISTORY = 20
ROLLOUTS, SHADOWS = 5, 10
COMPARED = 200
PROBES = 10


@dataclass(frozen=True, slots=True)
class History:
    """What happened to a model, and what it has."""

    lines: tuple[Line, ...]
    versions: tuple[VersionLine, ...]

    @property
    def is_checking(self) -> bool:
        """Whether a version is being received or checked."""
        return any(version.chip.tone == "busy" for version in self.versions)


def models(request: HttpRequest) -> HttpResponse:
    """Every model, searched by name and owner."""
    search = request.GET.get("search", "").strip()
    rows = Paginator(registry.models(search=search), ROWS).get_page(request.GET.get("page"))
    placements = deployments.placements().filter(model__in=[model.pk for model in rows])
    return page(
        request,
        "registry/model_list.html",
        section="models",
        rows=rows,
        lines=model_lines(rows, placements),
        search=search,
    )


def model(request: HttpRequest, name: str) -> HttpResponse:
    """One model: what is live, its charts, its history, the buttons."""
    found = registry.get_model(name)
    placements = list(deployments.placements(model=name).select_related("warmup_schedule"))
    shown = _cards(found, placements)
    rows = Paginator(registry.versions(name), VERSIONS).get_page(request.GET.get("page"))
    kept = History(_lines(name), _versions(found, rows, placements))
    is_moving = any(card.moving for card in shown)
    samples = list(registry.samples(name))
    ended = kept.lines[0].sentence if kept.lines and not is_moving else ""
    return live_page(
        request,
        "registry/model_detail.html",
        Part("cards", "registry/_cards.html", shown, is_moving=is_moving, ended=ended, unwell=unwell()),
        Part("history", "registry/_history.html", kept, is_moving=is_moving or kept.is_checking),
        section="models",
        model=found,
        rows=rows,
        slo=slo_of(found),
        aliases=registry.aliases(name),
        samples=sample_lines(samples, registry.fits_of(found, samples) if samples else {}),
        probes=_probes(placements),
        then=history.then(request, name, placements),
        **_chart_choice(request, name, [card.environment for card in shown]),
    )


def _cards(model: "Model", placements: "list[Placement]") -> tuple[Card, ...]:
    environments, servers = list(fleet.environments()), fleet.servers_at_a_glance()
    (row,) = as_seen(deployments.fleet_rows([model], environments, servers), servers, timezone.now())
    last: dict[int, Rollout] = {}
    for rollout in deployments.rollouts(model=model.name, active=False)[:HISTORY]:
        last.setdefault(rollout.placement_id, rollout)
    return cards(
        row,
        environments,
        placements={placement.environment.name: placement for placement in placements},
        moving=deployments.with_progress(deployments.rollouts(model=model.name, active=True)),
        last=last,
        targets={placement.pk: deployments.rollback_targets(placement, limit=1) for placement in placements},
    )


def _lines(name: str) -> tuple[Line, ...]:
    found = deployments.with_last_judgement(deployments.with_way_back(deployments.rollouts(model=name)), most=HISTORY)
    return tuple(line(rollout) for rollout in found)


def _versions(model: "Model", rows: "Iterable[Version]", placements: "list[Placement]") -> tuple[VersionLine, ...]:
    aliases, bans = _aliases(model), list(deployments.bans(model=model.name, active=True))
    return tuple(version_line(version, placements, aliases, bans) for version in rows)


def _aliases(model: "Model") -> dict[int, list[str]]:
    found: dict[int, list[str]] = defaultdict(list)
    for version_id, name in registry.aliases(model.name).values_list("version_id", "name"):
        found[version_id].append(name)
    return found


def _probes(placements: "list[Placement]") -> "list[Probe]":
    """The last requests Conch itself made to the model, over all environments."""
    found = [probe for placement in placements for probe in deployments.probes(placement, limit=PROBES)]
    return sorted(found, key=lambda probe: probe.at, reverse=True)[:PROBES]


def _chart_choice(request: HttpRequest, name: str, environments: list[str]) -> dict[str, object]:
    """Which charts, of which environment and time; the last environment is the one that matters most."""
    asked = request.GET.get("environment", "")
    environment = asked if asked in environments else (environments[-1] if environments else "")
    return {
        "board": board(Page.MODEL, request, model=name, environment=environment),
        "advice_query": urlencode({"model": name, "environment": environment}),
        "environments": environments,
        "environment": environment,
        **chosen_range(request, splits=True),
    }


def version(request: HttpRequest, name: str, number: int) -> HttpResponse:
    """One version: its config, files, checks, how it did aside, where it is live."""
    found = registry.get_version(name, number)
    rollouts = list(deployments.with_way_back(deployments.rollouts(model=name).filter(to_version=found))[:ROLLOUTS])
    placements = list(deployments.placements(model=name))
    shown = version_page(
        found,
        placements=placements,
        aliases=_aliases(found.model),
        rollouts=rollouts,
        shadows=deployments.shadows_of([one.pk for one in rollouts], most=SHADOWS),
        bans=deployments.bans(model=name, active=True),
        is_served=bool(deployments.servers_serving(name, number)),
    )
    return live_page(
        request,
        "registry/version_detail.html",
        Part("version", "registry/_version.html", shown, is_moving=shown.is_moving, ended=shown.ended),
        Later("report", lambda: _report(request, found, placements, is_moving=shown.is_moving)),
        section="models",
        model=found.model,
        number=number,
    )


def _report(request: HttpRequest, version: "Version", placements: "list[Placement]", *, is_moving: bool) -> Part:
    shown = _panel(request, version, placements)
    return Part("report", "registry/_report.html", shown, is_moving=is_moving)


def _panel(request: HttpRequest, version: "Version", placements: "list[Placement]") -> ReportPanel | None:
    """Preflight for one environment, the last unless another is asked for; None before there is a configuration."""
    names = tuple(home.name for home in fleet.environments())
    if version.artifact is None or not names:
        return None
    asked = request.GET.get("environment", "")
    chosen = asked if asked in names else names[-1]
    bans = (deployments.ban_on(one, version) for one in placements if one.environment.name == chosen)
    return report_panel(deployments.report(version, chosen), names, ban=next(bans, None))


def compare(request: HttpRequest, name: str, number: int) -> HttpResponse:
    """One version beside another: configuration by meaning, files by content."""
    found = registry.get_version(name, number)
    others = registry.versions(name).exclude(artifact=None).exclude(number=number)
    numbers = list(others.values_list("number", flat=True)[:COMPARED])
    asked = whole_number(request.GET.get("with", ""))
    default = max((one for one in numbers if one < number), default=numbers[0] if numbers else 0)
    other = default if asked is None else asked
    shown = comparison_page(registry.compare_versions(name, other, number)) if other else None
    return page(
        request,
        "registry/version_compare.html",
        section="models",
        model=found.model,
        number=number,
        other=other,
        numbers=numbers,
        shown=shown,
    )
