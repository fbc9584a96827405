"""Observed is brought to desired: what differs is kept with since when, and what can be mended is begun."""

from datetime import datetime, timedelta
from functools import partial

import pytest
from django.db import connection, transaction
from django.utils import timezone

from apps.audit.models import Event
from apps.common.actor import COMMAND
from apps.deployments import healing, selectors, services
from apps.deployments.models import Drift, Placement, Rollout, Run
from apps.deployments.plan import config_digest
from apps.deployments.policy import Policy
from apps.deployments.reconciler import reconcile
from apps.deployments.services.healing import heal as begin_heal
from apps.fleet import services as fleet
from apps.fleet.errors import ServerNotActive
from apps.fleet.models import Observation, ObservedVersion, Server
from tests.factories.fleets import FleetRows


def look_again(rows: FleetRows, *, at: datetime | None = None) -> None:
    """As the clock does once the servers were asked."""
    now = at or timezone.now()
    Observation.objects.filter(is_reachable=True).update(at=now, seen_at=now)
    reconcile([server.pk for server in rows.servers.values()], now=now)


def lose(server: str) -> None:
    ObservedVersion.objects.filter(server__name=server).delete()


def kept(server: str) -> list[tuple[str, int, str]]:
    return list(selectors.kept_drift(server=server).values_list("model", "version", "kind"))


def told(verb: str) -> list[str]:
    return list(Event.objects.filter(verb=verb).order_by("pk").values_list("subject", flat=True))


def test_servers_that_serve_what_is_desired_cost_no_row_and_no_rollout(rows: FleetRows) -> None:
    look_again(rows)

    assert (Drift.objects.count(), Rollout.objects.count(), Event.objects.count()) == (0, 0, 0)


def test_a_version_that_is_gone_is_kept_told_once_and_loaded_again_on_that_server_only(rows: FleetRows) -> None:
    lose("prod-2")

    look_again(rows)
    look_again(rows)

    heal = Rollout.objects.get()
    assert kept("prod-2") == [("digits", 1, "missing")]
    assert told("drift_began") == ["prod-2"]
    assert (heal.kind, heal.state, heal.actor) == ("heal", "running", "conch")
    assert [(run.server.name, run.state) for run in heal.runs.all()] == [("prod-2", "running")]
    assert Run.objects.get().recipe == ["preflight", "load", "await_ready", "verify"]


def test_a_server_that_runs_under_another_overlay_is_told_and_loaded_again_while_it_serves(rows: FleetRows) -> None:
    two = {"instance_group": [{"count": 2}]}
    services.set_overlay(COMMAND, environment="prod", model="digits", document=two, reason="slow")
    Rollout.objects.update(state="succeeded", finished_at=timezone.now() - timedelta(minutes=1))
    Run.objects.all().delete()
    placement = selectors.get_placement("prod", "digits")
    Placement.objects.filter(pk=placement.pk).update(overlay=placement.overlays.get())
    ObservedVersion.objects.filter(server__name="prod-1").update(loaded_under=config_digest(two))
    ObservedVersion.objects.filter(server__name="prod-2").update(loaded_under=config_digest({}))

    look_again(rows)

    heal = Rollout.objects.get(kind="heal")
    assert (kept("prod-1"), kept("prod-2")) == ([], [("digits", 1, "wrong_config")])
    assert [run.server.name for run in heal.runs.all()] == ["prod-2"]
    assert selectors.in_service(rows.servers["prod-2"], now=timezone.now()).is_in_service


def test_drift_ends_when_the_server_serves_it_again(rows: FleetRows) -> None:
    began = timezone.now() - timedelta(minutes=5)
    Server.objects.update(cordoned_at=began)
    lose("prod-2")
    look_again(rows, at=began)

    rows.observed("prod-2", "digits", 1)
    look_again(rows)

    row = Drift.objects.get()
    assert row.since == began
    assert row.ended_at is not None
    assert told("drift_ended") == ["prod-2"]
    assert list(selectors.kept_drift(ended=True)) == [row]


def test_a_heal_moves_no_pointer_and_is_nobodys_last_change(rows: FleetRows) -> None:
    lose("prod-2")
    look_again(rows)
    before = selectors.get_placement("prod", "digits").since
    heal = Rollout.objects.get()
    Run.objects.update(state="succeeded", finished_at=timezone.now())

    services.advance_rollout(heal.pk, now=timezone.now())
    Run.objects.filter(direction="settle").update(state="succeeded")
    services.advance_rollout(heal.pk, now=timezone.now())

    placement = selectors.get_placement("prod", "digits")
    heal.refresh_from_db()
    assert heal.state == "succeeded"
    assert (placement.active, placement.since) == (rows.versions["digits", 1], before)
    assert selectors.last_live(placement) is None


def test_a_heal_gives_way_to_a_person(rows: FleetRows) -> None:
    lose("prod-2")
    look_again(rows)
    heal = Rollout.objects.get()

    promoted = services.promote(COMMAND, environment="prod", model="digits", version=2)

    heal.refresh_from_db()
    assert (heal.state, heal.error["code"]) == ("failed", "superseded")
    assert [run.state for run in heal.runs.all()] == ["cancelled"]
    assert promoted.runs.count() == 2


def test_a_server_that_loses_it_while_another_is_healed_waits_for_nobody(rows: FleetRows) -> None:
    lose("prod-1")
    look_again(rows)
    begun = Rollout.objects.get()

    lose("prod-2")
    look_again(rows)
    look_again(rows)

    assert kept("prod-2") == [("digits", 1, "missing")]
    assert [(run.server.name, run.state) for run in begun.runs.order_by("position")] == [
        ("prod-1", "running"),
        ("prod-2", "running"),
    ]
    assert {tuple(run.recipe) for run in begun.runs.all()} == {("preflight", "load", "await_ready", "verify")}
    assert Rollout.objects.get().plan["servers"] == ["prod-1", "prod-2"]
    assert [event.detail["servers"] for event in Event.objects.filter(verb="heal_more")] == [["prod-2"]]


def test_a_heal_that_another_server_has_joined_ends_with_the_last_of_them(rows: FleetRows) -> None:
    lose("prod-1")
    look_again(rows)
    begun, first = Rollout.objects.get(), Run.objects.get()
    lose("prod-2")
    look_again(rows)

    Run.objects.filter(pk=first.pk).update(state="succeeded", finished_at=timezone.now())
    services.advance_rollout(begun.pk, now=timezone.now())
    between = selectors.state_of(begun.pk)
    for _ in range(2):
        Run.objects.update(state="succeeded", finished_at=timezone.now())
        services.advance_rollout(begun.pk, now=timezone.now())

    assert begun.runs.filter(direction="forward", state="succeeded").count() == 2
    assert (between, selectors.state_of(begun.pk)) == ("running", "succeeded")


def test_whoever_waits_for_its_turn_is_looked_at_when_a_heal_ends(rows: FleetRows) -> None:
    for number in range(5):
        rows.model(f"m{number}")
        rows.version(f"m{number}", 1)
        rows.placed(f"m{number}", "prod", 1)
    lose("prod-2")
    look_again(rows)
    waiting = set(Drift.objects.filter(why_not=healing.ITS_TURN).values_list("model", flat=True))
    Run.objects.filter(state="running").update(state="succeeded", finished_at=timezone.now())
    heals = list(Rollout.objects.order_by("pk"))

    asked = [_servers_looked_at_when_it_ends(heal) for heal in heals]

    assert len(waiting) == 2
    assert asked == [[rows.servers["prod-2"].pk]] * 4


def _servers_looked_at_when_it_ends(heal: Rollout) -> list[int]:
    services.advance_rollout(heal.pk, now=timezone.now())
    heal.runs.filter(direction="settle").update(state="succeeded", finished_at=timezone.now())
    with transaction.atomic():
        services.advance_rollout(heal.pk, now=timezone.now())
        sent = [send.args for _, send, *_ in connection.run_on_commit if isinstance(send, partial)]
    return [server for task, *_, named in sent if task == "conch.observe_servers" for server in named["server_ids"]]


def test_no_server_joins_what_is_no_heal(rows: FleetRows) -> None:
    seen = selectors.get_placement("prod", "digits")
    rollback = rows.rollout("digits", "prod", 2, 1, kind="rollback", state="running")

    assert begin_heal(seen, [rows.servers["prod-2"]], reason="missing") is None
    assert rollback.runs.count() == Run.objects.count()


def test_a_server_that_loses_again_what_was_just_healed_joins_once_more(rows: FleetRows) -> None:
    lose("prod-1")
    lose("prod-2")
    look_again(rows)
    begun = Rollout.objects.get()
    mended = begun.runs.filter(server__name="prod-2")
    mended.update(state="succeeded", finished_at=timezone.now() + timedelta(seconds=1))

    look_again(rows)
    unseen = begun.runs.count()
    look_again(rows, at=timezone.now() + timedelta(minutes=1))

    assert unseen == 2
    assert kept("prod-2") == [("digits", 1, "missing")]
    assert list(begun.runs.order_by("pk").values_list("server__name", "state")) == [
        ("prod-1", "running"),
        ("prod-2", "succeeded"),
        ("prod-2", "running"),
    ]
    assert Rollout.objects.get().plan["servers"] == ["prod-1", "prod-2"]


def test_nothing_is_judged_where_a_rollout_is_at_work_or_before_it_was_seen_after(rows: FleetRows) -> None:
    rollout = services.promote(COMMAND, environment="prod", model="digits", version=2)
    Run.objects.update(state="running", started_at=timezone.now())
    lose("prod-2")
    look_again(rows)
    moving = kept("prod-2")

    Run.objects.update(state="cancelled")
    Rollout.objects.filter(pk=rollout.pk).update(state="failed", finished_at=timezone.now() + timedelta(seconds=1))
    look_again(rows)
    too_early = kept("prod-2")
    look_again(rows, at=timezone.now() + timedelta(seconds=5))

    assert (moving, too_early) == ([], [])
    assert kept("prod-2") == [("digits", 1, "missing")]


@pytest.mark.parametrize(
    ("state", "why_not"),
    [
        ("unapproved", "rollout {} (promote) is moving it, and is unapproved"),
        ("queued", "rollout {} (promote) is moving it"),
        ("running", "rollout {} (promote) is moving it"),
        ("paused", "rollout {} (promote) is moving it, and is paused"),
    ],
)
def test_a_server_to_which_a_rollout_has_not_come_is_told_of_and_left_to_it(
    rows: FleetRows, state: str, why_not: str
) -> None:
    rollout = services.promote(COMMAND, environment="prod", model="digits", version=2)
    Rollout.objects.update(state=state)
    Run.objects.filter(server__name="prod-1").update(state="running", started_at=timezone.now())
    lose("prod-1")
    lose("prod-2")

    look_again(rows)

    assert (kept("prod-1"), kept("prod-2")) == ([], [("digits", 1, "missing")])
    assert Drift.objects.get().why_not == why_not.format(rollout.pk)
    assert told("drift_began") == ["prod-2"]
    assert [one.pk for one in Rollout.objects.all()] == [rollout.pk]


def test_what_a_rollout_brought_is_what_a_server_should_serve_while_it_moves_others(rows: FleetRows) -> None:
    services.promote(COMMAND, environment="prod", model="digits", version=2)
    Rollout.objects.update(state="paused")
    done = timezone.now() - timedelta(seconds=5)
    Run.objects.filter(server__name="prod-1").update(state="succeeded", started_at=done, finished_at=done)
    rows.observed("prod-1", "digits", 2)
    look_again(rows)
    as_brought = kept("prod-1")

    lose("prod-1")
    look_again(rows)
    lost = kept("prod-1")
    rows.observed("prod-1", "digits", 2)
    look_again(rows)

    assert (as_brought, lost, kept("prod-1")) == ([], [("digits", 2, "missing")], [])
    assert told("drift_ended") == ["prod-1"]


@pytest.mark.parametrize(("kind", "state"), [("rollback", "running"), ("unload", "queued"), ("promote", "reverting")])
def test_what_goes_to_all_servers_at_once_is_judged_nowhere(rows: FleetRows, kind: str, state: str) -> None:
    rows.rollout("digits", "prod", 2, 1, kind=kind, state=state)
    lose("prod-2")

    look_again(rows)

    assert kept("prod-2") == []


def test_a_cordoned_server_is_told_of_and_left_alone(rows: FleetRows) -> None:
    fleet.cordon_server(COMMAND, name="prod-2", reason="new disk")
    lose("prod-2")

    look_again(rows)

    assert Drift.objects.get().why_not == "prod-2 is cordoned"
    assert not Rollout.objects.exists()


def test_what_is_held_does_not_heal(rows: FleetRows) -> None:
    services.hold(COMMAND, environment="prod", model="digits", reason="under investigation")
    lose("prod-2")

    look_again(rows)

    assert Drift.objects.get().why_not == "digits in prod is held by command line: under investigation"
    assert not Rollout.objects.exists()


def test_an_environment_that_does_not_heal_itself_waits_for_a_person(rows: FleetRows) -> None:
    document = {**Policy().document(), "self_heal": False}
    services.change_policy(COMMAND, environment="prod", document=document)
    lose("prod-2")

    look_again(rows)
    waiting = Rollout.objects.count()
    fleet.ask_to_reconcile(COMMAND, name="prod-2")
    look_again(rows)

    assert waiting == 0
    assert Rollout.objects.get().kind == "heal"


def test_a_version_loaded_by_hand_above_the_active_one_is_told_of_and_left_alone(rows: FleetRows) -> None:
    rows.observed("prod-2", "digits", 3)

    look_again(rows)

    assert kept("prod-2") == [("digits", 3, "wrong_set")]
    assert Drift.objects.get().why_not == healing.ABOVE
    assert not Rollout.objects.exists()


def test_a_server_that_does_not_answer_is_one_difference_and_keeps_what_was_known(rows: FleetRows) -> None:
    lose("prod-2")
    Server.objects.update(cordoned_at=timezone.now())
    look_again(rows)

    Observation.objects.filter(server__name="prod-2").update(is_reachable=False, reason="refused")
    look_again(rows)

    assert sorted(kept("prod-2")) == [("", 0, "unreachable"), ("digits", 1, "missing")]
    assert [(one.environment, one.kind, one.count) for one in selectors.drift_counts()] == [
        ("prod", "missing", 1),
        ("prod", "unreachable", 1),
    ]


def test_a_heal_that_did_not_help_waits_and_a_person_need_not(rows: FleetRows) -> None:
    lose("prod-2")
    look_again(rows)
    now = timezone.now()
    Run.objects.update(state="failed", finished_at=now)
    Rollout.objects.update(state="failed", finished_at=now - timedelta(seconds=1))

    look_again(rows)
    waiting = Drift.objects.get()
    fleet.ask_to_reconcile(COMMAND, name="prod-2")
    look_again(rows)

    assert waiting.next_try_at == now + timedelta(seconds=10)
    assert Rollout.objects.filter(kind="heal").count() == 2
    assert Server.objects.get(name="prod-2").reconcile_asked_at is None
    assert told("reconcile_server") == ["prod-2"]


def test_only_an_active_server_can_be_reconciled(rows: FleetRows) -> None:
    Server.objects.filter(name="prod-2").update(state="retired")

    with pytest.raises(ServerNotActive):
        fleet.ask_to_reconcile(COMMAND, name="prod-2")


def test_a_server_that_is_retired_drifts_no_more(rows: FleetRows) -> None:
    fleet.cordon_server(COMMAND, name="prod-2", reason="goes")
    lose("prod-2")
    look_again(rows)

    services.retire_server(COMMAND, name="prod-2", reason="gone")

    assert kept("prod-2") == []


@pytest.mark.parametrize("servers", [3, 30])
def test_a_pass_that_finds_nothing_new_costs_the_same_for_few_servers_and_many(
    rows: FleetRows, servers: int, django_assert_num_queries: object
) -> None:
    for number in range(servers):
        rows.server(f"more-{number}", "prod", cordoned_at=timezone.now())
    look_again(rows)

    with django_assert_num_queries(10):  # type: ignore[operator]
        reconcile([server.pk for server in rows.servers.values()], now=timezone.now())
