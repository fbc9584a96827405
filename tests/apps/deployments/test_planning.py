"""A promotion before it is asked for: what it would do, and what stands in its way."""

from datetime import timedelta

from django.utils import timezone

from apps.common.actor import COMMAND
from apps.deployments import services
from apps.deployments.models import Rollout, Run
from apps.deployments.services.planning import PromotionPlan
from apps.fleet.models import Observation, ObservedVersion
from tests.factories.fleets import FleetRows


def planned(version: int = 2) -> PromotionPlan:
    return services.plan_promotion(COMMAND, environment="prod", model="digits", version=version)


def test_a_plan_says_what_each_server_loads_keeps_and_drops(rows: FleetRows) -> None:
    services.update_environment(COMMAND, name="prod", waves=[1, "100%"], final_bake_s=30)

    plan = planned()

    assert [(one.server, one.wave, one.load, one.keep, one.drop) for one in plan.servers] == [
        ("prod-1", 0, (2,), (1,), ()),
        ("prod-2", 1, (2,), (1,), ()),
    ]
    assert (plan.from_version, plan.to_version, plan.waves, plan.bakes_s) == (1, 2, (1, 1), (0, 30))
    assert plan.obstacles == ()


def test_without_a_standby_window_the_old_version_is_dropped(rows: FleetRows) -> None:
    services.update_environment(COMMAND, name="prod", standby_window_s=0)

    assert {(one.keep, one.drop) for one in planned().servers} == {((), (1,))}


def test_a_version_that_is_loaded_already_is_hot_there(rows: FleetRows) -> None:
    rows.observed("prod-2", "digits", 2)

    assert [(one.is_hot, one.load) for one in planned().servers] == [(False, (2,)), (True, ())]


def test_a_version_that_is_loaded_already_is_still_tried_aside_unless_the_policy_says_never(rows: FleetRows) -> None:
    rows.observed("prod-2", "digits", 2)
    tried = planned()
    services.update_environment(COMMAND, name="prod", shadow={"when": "never"})
    untried = planned()

    assert [(one.is_hot, "shadow" in one.steps) for one in tried.servers] == [(False, True), (True, True)]
    assert {"shadow" in one.steps for one in untried.servers} == {False}
    assert (tried.no_shadow, "policy says never" in untried.no_shadow) == ("", True)


def test_what_is_loaded_and_dropped_is_told_from_what_was_seen_there(rows: FleetRows) -> None:
    rows.observed("prod-1", "digits", 7)
    ObservedVersion.objects.filter(server__name="prod-2").delete()

    assert [(one.server, one.load, one.keep, one.drop) for one in planned().servers] == [
        ("prod-1", (2,), (1,), (7,)),
        ("prod-2", (1, 2), (1,), ()),
    ]


def test_a_version_to_be_dropped_says_whether_it_was_asked_for_lately_and_if_by_number(rows: FleetRows) -> None:
    services.update_environment(COMMAND, name="prod", standby_window_s=0)
    rows.observed("prod-2", "digits", 7)
    now = timezone.now()
    asked = {"digits/1": now.isoformat(), "digits/7": (now - timedelta(hours=2)).isoformat()}
    Observation.objects.filter(server__name__startswith="prod").update(asked=asked)

    found = {one.server: [(each.version, each.by_number) for each in one.asked] for one in planned().servers}

    assert found == {"prod-1": [(1, False)], "prod-2": [(1, True)]}


def test_how_long_it_takes_comes_from_earlier_promotions_and_is_unknown_without(rows: FleetRows) -> None:
    unknown = planned()
    past = rows.rollout("digits", "prod", None, 1)
    now = timezone.now()
    Run.objects.filter(rollout=past).update(started_at=now - timedelta(seconds=12), finished_at=now)
    services.update_environment(COMMAND, name="prod", final_bake_s=30)

    known = planned()

    assert (unknown.expected_s, unknown.servers[0].expected_s) == (None, None)
    assert (known.expected_s, known.servers[0].expected_s) == (54.0, 12.0)


def test_every_obstacle_is_told_not_only_the_first(rows: FleetRows) -> None:
    Observation.objects.filter(server__name="prod-2").update(is_reachable=False)
    now = timezone.now()
    frozen = {"cron": f"{now.minute} {now.hour} * * *", "duration_s": 3_600}
    rows.environment("staging")
    services.update_environment(COMMAND, name="prod", freeze=[frozen], after={"environment": "staging", "minutes": 1})

    codes = [error.code for error in planned(version=1).obstacles]

    assert codes == ["already_active", "promotions_frozen", "not_proven_elsewhere", "servers_down"]


def test_what_moves_is_an_obstacle(rows: FleetRows) -> None:
    services.promote(COMMAND, environment="prod", model="digits", version=3)

    assert [error.code for error in planned().obstacles] == ["rollout_active"]


def test_a_gate_that_does_not_apply_says_so(rows: FleetRows) -> None:
    rows.models["digits"].slo_p99_ms = None
    rows.models["digits"].save()
    gates = [
        {"name": "p99", "signal": "latency_quantile", "against": "objective"},
        {"name": "errors", "signal": "error_ratio", "limit": 0.01},
    ]
    services.update_environment(COMMAND, name="prod", final_bake_s=30, gates=gates)

    p99, errors = planned().gates

    assert "no such objective" in p99.remark
    assert (errors.remark, errors.sentence) == ("", "error ratio at most 1 % over 60 s")


def test_planning_changes_nothing(rows: FleetRows) -> None:
    planned()

    assert Rollout.objects.count() == 0
