"""Rollout pages: what changed, when, by whom, why; one rollout live."""

from typing import TYPE_CHECKING

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from apps.console.door import Part, live_page, page, unwell
from apps.console.ranges import board
from apps.console.shown import rollouts as shown_rollouts
from apps.console.shown.gates import gate_lines, judgement_lines
from apps.console.shown.state import KINDS, ROLLOUT
from apps.deployments import selectors as deployments
from apps.fleet import selectors as fleet
from apps.metrics.catalogue import Page

if TYPE_CHECKING:
    from apps.deployments.models import Rollout

ROWS = 50


def rollouts(request: HttpRequest) -> HttpResponse:
    """Rollouts that match, newest first."""
    asked = {name: request.GET.get(name, "") for name in ("environment", "model", "state", "kind")}
    found = deployments.rollouts(
        environment=asked["environment"], model=asked["model"], state=asked["state"], kind=asked["kind"]
    )
    rows = Paginator(deployments.with_way_back(deployments.with_progress(found)), ROWS).get_page(
        request.GET.get("page")
    )
    left = deployments.estimates(rows, now=timezone.now())
    lines = tuple(shown_rollouts.line(rollout, left.get(rollout.pk)) for rollout in rows)
    return live_page(
        request,
        "deployments/rollout_list.html",
        Part(
            "rollouts", "deployments/_rollouts.html", lines, is_moving=any(line.chip.tone == "busy" for line in lines)
        ),
        section="rollouts",
        rows=rows,
        asked=asked,
        environments=[one.name for one in fleet.environments()],
        states=[(state, label.strip("! >")) for state, (label, _) in ROLLOUT.items()],
        kinds=KINDS.items(),
    )


def rollout(request: HttpRequest, rollout_id: int) -> HttpResponse:
    """One rollout: servers by steps, filling up live; of many a page, those that failed or move first."""
    found = deployments.get_rollout(rollout_id)
    counts = deployments.run_counts(found)
    runs = deployments.runs_of(found, is_trouble_first=shown_rollouts.is_folded(counts))
    rows = Paginator(runs, shown_rollouts.ROWS).get_page(request.GET.get("page"))
    policy = deployments.rollout_policy(found)
    gates = gate_lines(found, policy, deployments.latest_judgements(found, policy))
    left = deployments.estimate(found, counts, policy, now=timezone.now())
    shown = shown_rollouts.detail(found, list(rows), counts, gates, left)
    return live_page(
        request,
        "deployments/rollout_detail.html",
        Part(
            "rollout",
            "deployments/_rollout.html",
            shown,
            is_moving=shown.is_moving,
            ended=shown.ended,
            unwell=unwell(),
        ),
        section="rollouts",
        rows=rows,
        board=board(Page.ROLLOUT, request, rollout=str(rollout_id), **_about(found)),
    )


def judgements(request: HttpRequest, rollout_id: int) -> HttpResponse:
    """Every look at a rollout's gates, newest first: what was asked, what came, what it was held against."""
    found = deployments.get_rollout(rollout_id)
    rows = Paginator(deployments.judgements_of(rollout_id), ROWS).get_page(request.GET.get("page"))
    return page(
        request,
        "deployments/judgement_list.html",
        section="rollouts",
        line=shown_rollouts.line(found),
        rows=rows,
        looks=judgement_lines(deployments.rollout_policy(found), rows),
    )


def _about(rollout: "Rollout") -> dict[str, str]:
    """What its charts are about once somebody zooms in."""
    both = (rollout.from_version, rollout.to_version)
    return {
        "model": rollout.placement.model.name,
        "environment": rollout.placement.environment.name,
        "versions": ",".join(dict.fromkeys(str(one.number) for one in both if one is not None)),
    }
