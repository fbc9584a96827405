"""Pausing, resuming, approving, retrying and skipping over REST; judgements and policies of a rollout."""

import json
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from apps.deployments.models import Judgement
from tests.apps.api import rows

pytestmark = pytest.mark.django_db


def post(client: Client, path: str, **body: Any) -> Any:
    return client.post(f"/api/v1/{path}", json.dumps(body), content_type="application/json")


def moving() -> Any:
    policy = {"bake_s": 60, "gates": [{"name": "p99", "signal": "latency_quantile", "limit": 60}]}
    rollout = rows.rollout(rows.placement(), to=rows.version(1), servers=2)
    type(rollout).objects.filter(pk=rollout.pk).update(state="running", policy=policy, finished_at=None)
    return rollout


def test_a_rollout_is_paused_and_resumed_with_a_reason(root: Client) -> None:
    where = f"rollouts/{moving().pk}"

    paused = post(root, f"{where}/pause", reason="look first")
    state = root.get(f"/api/v1/{where}").json()
    resumed = post(root, f"{where}/resume", reason="all good")

    assert (paused.status_code, state["state"], state["pause_reason"]) == (202, "paused", "look first")
    assert (resumed.status_code, resumed.json()["state"]) == (202, "running")


@pytest.mark.parametrize(
    ("control", "body", "status", "code"),
    [
        ("pause", {}, 400, "fields_invalid"),
        ("resume", {"reason": "why"}, 409, "rollout_not_paused"),
        ("approve", {"reason": "why"}, 409, "approval_not_needed"),
        ("retry", {"reason": "why", "server": "nowhere"}, 409, "run_not_retryable"),
        ("skip-gate", {"reason": "why", "gate": "none"}, 404, "gate_unknown"),
    ],
)
def test_what_cannot_be_done_is_said(root: Client, control: str, body: dict[str, str], status: int, code: str) -> None:
    refused = post(root, f"rollouts/{moving().pk}/{control}", **body)

    assert (refused.status_code, refused.json()["code"]) == (status, code)


def test_a_gates_newest_judgement_stands_with_the_rollout_and_all_of_them_in_a_list(root: Client) -> None:
    rollout = moving()
    for value, verdict in ((None, "inconclusive"), (41.0, "pass")):
        Judgement.objects.create(
            rollout=rollout, gate="p99", wave=0, at=timezone.now(), verdict=verdict, value=value, queries=["up"]
        )

    (gate,) = root.get(f"/api/v1/rollouts/{rollout.pk}").json()["gates"]
    every = root.get(f"/api/v1/rollouts/{rollout.pk}/judgements").json()["results"]

    assert (gate["verdict"], gate["value"], gate["queries"]) == ("pass", 41.0, ["up"])
    assert [one["verdict"] for one in every] == ["pass", "inconclusive"]


def test_a_gate_is_skipped(root: Client) -> None:
    rollout = moving()

    skipped = post(root, f"rollouts/{rollout.pk}/skip-gate", gate="p99", reason="known")

    assert skipped.status_code == 202
    assert root.get(f"/api/v1/rollouts/{rollout.pk}").json()["skipped_gates"]["p99"]["reason"] == "known"


def test_a_promotion_is_planned_with_its_own_body_and_begins_nothing(root: Client) -> None:
    rows.placement()
    rows.server("t1")
    number = rows.version(3).number

    plan = post(root, "rollouts/plan", environment="prod", model="digits", version=number, reason="a build")

    assert plan.status_code == 200, plan.content
    told = plan.json()
    assert [one["server"] for one in told["servers"]] == ["t1"]
    assert told["would_begin"] is (told["obstacles"] == [])
    assert root.get("/api/v1/rollouts").json()["results"] == []
