"""A rollout's page in waves: where it stands, its gates, its buttons."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from apps.deployments.models import Judgement, Rollout, Run
from tests.factories.fleets import FleetRows
from tests.factories.large_rollouts import over_many_servers

GATE = {"name": "p99", "signal": "latency_quantile", "limit": 60}


def in_waves(rollout: Rollout, **fields: object) -> str:
    """The rollout as one of two waves with a gate; the address of its page."""
    policy = {"waves": [1, "100%"], "bake_s": 60, "gates": [GATE]}
    plan = {**rollout.plan, "waves": [1, 1]}
    Rollout.objects.filter(pk=rollout.pk).update(policy=policy, plan=plan, **fields)
    return f"/rollouts/{rollout.pk}/"


def test_a_paused_rollout_says_who_paused_it_and_why(moving: Rollout, operator: Client) -> None:
    where = in_waves(moving, state="paused", paused_by="conch", pause_reason="gate p99 could not be judged")

    page = operator.get(where).content.decode()

    assert "Paused by conch: gate p99 could not be judged" in page
    assert f"{where}resume/" in page
    assert f"{where}skip-gate/" in page


def test_a_rollout_that_waits_for_approval_offers_it(moving: Rollout, operator: Client) -> None:
    where = in_waves(moving, state="unapproved")

    page = operator.get(where).content.decode()

    assert "must approve before anything begins" in page
    assert f"{where}approve/" in page


def test_a_rollback_has_no_gates_to_wait_for(moving: Rollout, viewer: Client) -> None:
    where = in_waves(moving, kind="rollback")

    page = viewer.get(where).content.decode()

    assert "not judged yet" not in page
    assert "<h2>Gates</h2>" not in page


def test_a_gate_that_no_judgement_came_to_is_not_waited_for_once_all_is_over(moving: Rollout, viewer: Client) -> None:
    where = in_waves(moving, state="rolled_back", finished_at=timezone.now())

    page = viewer.get(where).content.decode()

    assert "not judged</span>" in page
    assert "not judged yet" not in page


def test_why_a_rollout_was_sent_back_is_said_once(moving: Rollout, viewer: Client) -> None:
    why = "gate p99 of digits version 4 is 211.7 ms, the limit is 50 ms"
    error = {"code": "gate_failed", "message": why, "hint": ""}
    where = in_waves(moving, state="rolled_back", turned_by="conch", turned_because=why, error=error)

    page = viewer.get(where).content.decode()

    assert "sent back by conch" in page
    assert page.count(why) == 1


def test_a_gate_shows_its_value_its_limit_and_what_was_asked(moving: Rollout, viewer: Client) -> None:
    where = in_waves(moving)
    Judgement.objects.create(
        rollout=moving,
        gate="p99",
        wave=0,
        at=timezone.now(),
        verdict="fail",
        value=181.2,
        threshold=60,
        samples=512,
        synthetic=40,
        queries=["max by (version) (something)"],
    )

    page = viewer.get(where).content.decode()
    fleet = viewer.get("/").content.decode()

    assert "p99 at most 60 ms over 60 s" in page
    assert "181" in page
    assert "512, 40 synthetic" in page
    assert "max by (version) (something)" in page
    assert "wave 1/2, p99 181 (gate 60.0)" in fleet


def test_every_look_at_the_gates_is_shown_with_what_was_asked(moving: Rollout, viewer: Client) -> None:
    where, now = in_waves(moving), timezone.now()
    for age, verdict, value in ((20, "inconclusive", None), (10, "pass", 41.5), (0, "fail", 181.2)):
        Judgement.objects.create(
            rollout=moving,
            gate="p99",
            wave=0,
            at=now - timedelta(seconds=age),
            verdict=verdict,
            value=value,
            threshold=60,
            baseline=50,
            queries=[f"asked {age} s ago"],
        )

    page = viewer.get(f"{where}judgements/").content.decode()

    assert f'href="{where}judgements/"' in viewer.get(where).content.decode()
    assert page.index("asked 0 s ago") < page.index("asked 10 s ago") < page.index("asked 20 s ago")
    assert page.count('<td class="right number">60.0</td><td class="right number">50.0</td>') == 3
    assert all(words in page for words in ("181", "41.5", "no data"))


def test_a_rollout_that_nobody_has_judged_says_when_that_begins(moving: Rollout, viewer: Client) -> None:
    page = viewer.get(f"{in_waves(moving)}judgements/").content.decode()

    assert "once the first server has the new version" in page


def test_who_approved_a_rollout_is_told(moving: Rollout, viewer: Client) -> None:
    where = in_waves(moving, approved_by="bob")

    assert "approved by bob" in viewer.get(where).content.decode()


def test_pressing_a_button_does_it(moving: Rollout, operator: Client) -> None:
    where = in_waves(moving)

    operator.post(f"{where}pause/", {"reason": "lunch"})
    paused = Rollout.objects.get(pk=moving.pk)
    operator.post(f"{where}skip-gate/", {"gate": "p99", "reason": "known"})
    operator.post(f"{where}resume/", {"reason": "back"})

    after = Rollout.objects.get(pk=moving.pk)
    assert (paused.state, paused.pause_reason) == ("paused", "lunch")
    assert (after.state, after.skipped_gates["p99"]["reason"]) == ("running", "known")


def test_a_failed_server_is_tried_again(moving: Rollout, operator: Client) -> None:
    run = moving.runs.filter(state="running").earliest("pk")
    Run.objects.filter(pk=run.pk).update(state="failed", error={"message": "disk full"})
    where = in_waves(moving, state="paused")

    operator.post(f"{where}retry/", {"server": run.server.name, "reason": "more disk"})

    run.refresh_from_db()
    assert (run.state, run.attempts) == ("queued", 2)


@pytest.mark.parametrize("control", ["pause", "resume", "approve", "retry", "skip-gate"])
def test_every_control_has_its_page(moving: Rollout, operator: Client, control: str) -> None:
    assert operator.get(f"{in_waves(moving)}{control}/").status_code == 200


def test_the_promote_dialog_shows_the_plan_for_what_is_chosen(moving: Rollout, viewer: Client) -> None:
    where = "/models/digits/plan/?environment=prod&version=2"

    page = viewer.get(where)
    part = viewer.get(where, headers={"HX-Request": "true"})

    assert "Plan: digits" in page.content.decode()
    assert "<html" not in part.content.decode()
    assert "This would be refused" in part.content.decode()


def test_many_servers_are_counted_and_shown_a_page_at_a_time(rows: FleetRows, viewer: Client) -> None:
    large = over_many_servers(rows)

    page = viewer.get(f"/rollouts/{large.pk}/").content.decode()
    last = viewer.get(f"/rollouts/{large.pk}/?page=3").content.decode()

    assert "done ×59" in page
    assert "! failed ×1" in page
    assert page.index(">many-059</a>") < page.index(">many-060</a>") < page.index(">many-000</a>")
    assert ">many-110</a>" not in page
    assert ">many-110</a>" in last
