"""Memory: what loads took, what is expected of the next, whether it fits, and what did not come back."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone

from apps.common.actor import COMMAND
from apps.deployments import selectors, services
from apps.deployments.memory import Action, Change, Fit, Taken, difference, expected, judge, leaked, shifted, taken
from apps.deployments.models import MemoryReading
from apps.fleet.models import Observation, Server
from apps.serving.memory import DeviceMemory, MemoryKind
from tests.factories.fleets import FleetRows
from tests.factories.memory import GIB, reading

MIB = 2**20
GPU, MACHINE = MemoryKind.GPU, MemoryKind.MACHINE


def card(used: int, *, name: str = "GPU-1", total: int = 16 * GIB, kind: MemoryKind = GPU) -> DeviceMemory:
    return DeviceMemory(kind, name, used, total)


def change(before: int, after: int, *, action: Action = Action.LOAD, kind: MemoryKind = GPU) -> Change:
    return Change(action, (card(before, kind=kind),), (card(after, kind=kind),))


def test_a_load_took_what_the_card_holds_more_and_an_unload_gave_back_what_it_holds_less() -> None:
    assert taken(change(GIB, 3 * GIB)) == Taken(GPU, 2 * GIB)
    assert taken(change(3 * GIB, GIB, action=Action.UNLOAD)) == Taken(GPU, 2 * GIB)


@pytest.mark.parametrize(
    "told",
    [
        change(GIB, GIB + 31 * MIB),
        change(3 * GIB, GIB),
        change(GIB, 3 * GIB, action=Action.UNLOAD),
        change(GIB, GIB + 300 * MIB, kind=MACHINE),
        Change(Action.LOAD, (card(GIB),), (card(3 * GIB, name="GPU-2"),)),
        Change(Action.LOAD, (card(GIB),), (card(3 * GIB, kind=MACHINE),)),
        Change(Action.LOAD, (), (card(GIB),)),
        Change(Action.LOAD, (card(GIB),), ()),
    ],
)
def test_what_is_within_the_noise_or_told_of_other_devices_tells_nothing(told: Change) -> None:
    assert taken(told) is None


def test_a_model_on_two_of_three_cards_takes_its_share_of_each() -> None:
    before = tuple(card(GIB, name=name) for name in "abc")
    after = (card(3 * GIB, name="a"), card(GIB, name="b"), card(2 * GIB, name="c"))

    assert taken(Change(Action.LOAD, before, after)) == Taken(GPU, 2 * GIB, devices=2)


def test_the_middle_of_the_latest_loads_is_expected_and_unloads_only_where_there_are_no_loads() -> None:
    loads = [change(GIB, GIB + size * GIB) for size in (2, 9, 3)]
    unload = change(6 * GIB, GIB, action=Action.UNLOAD)

    assert expected([*loads, unload], GPU) == Taken(GPU, 3 * GIB)
    assert expected([unload], GPU) == Taken(GPU, 5 * GIB)
    assert expected([change(GIB, GIB)], GPU) is None
    assert expected(loads, MACHINE) is None


def test_one_reading_of_a_whole_machine_proves_nothing_and_two_that_disagree_neither() -> None:
    one, same, other = (change(GIB, GIB + size * MIB, kind=MACHINE) for size in (1000, 1100, 5000))

    assert expected([one], MACHINE) is None
    assert expected([one, other], MACHINE) is None
    assert expected([one, same], MACHINE) == Taken(MACHINE, 1050 * MIB)


@pytest.mark.parametrize(
    ("used", "asked", "fit"),
    [
        (10, {}, Fit.FITS),
        (13, {}, Fit.SHORT),
        (13, {"has_standby": True}, Fit.SHORT),
        (13, {"has_standby": True, "may_drop": True}, Fit.DROPS_STANDBY),
        (13, {"may_drop": True}, Fit.SHORT),
        (13, {"has_standby": True, "may_drop": True, "standby": Taken(GPU, GIB)}, Fit.DROPS_STANDBY),
        (15, {"has_standby": True, "may_drop": True, "standby": Taken(GPU, GIB)}, Fit.SHORT),
    ],
)
def test_what_needs_four_gib_fits_by_what_is_free_and_by_what_the_standby_gives(
    used: int, asked: dict[str, object], fit: Fit
) -> None:
    assert judge(Taken(GPU, 4 * GIB), [card(used * GIB)], **asked) == fit  # type: ignore[arg-type]


def test_what_is_unknown_never_says_no() -> None:
    full, need = [card(16 * GIB)], Taken(GPU, 4 * GIB)

    assert judge(None, full) == Fit.UNKNOWN
    assert judge(need, []) == Fit.UNKNOWN
    assert judge(replace(need, kind=MACHINE), full) == Fit.UNKNOWN


def test_as_many_cards_as_it_took_must_have_room() -> None:
    cards = [card(1 * GIB, name="a"), card(15 * GIB, name="b")]

    assert judge(Taken(GPU, 4 * GIB, devices=1), cards) == Fit.FITS
    assert judge(Taken(GPU, 4 * GIB, devices=2), cards) == Fit.SHORT


def test_exactly_one_version_that_came_or_went_makes_the_difference() -> None:
    assert difference([], [["m", 1]]) == (Action.LOAD, "m", 1)
    assert difference([["m", 1], ["n", 2]], [["n", 2]]) == (Action.UNLOAD, "m", 1)
    assert difference([["m", 1]], [["m", 2]]) == (Action.MIXED, "", 0)
    assert difference([], [["m", 1], ["n", 1]]) == (Action.MIXED, "", 0)


def test_another_configuration_tells_what_it_changed_and_not_what_the_version_takes() -> None:
    more = change(GIB, 2 * GIB, action=Action.RECONFIGURE)
    less = change(2 * GIB, GIB, action=Action.RECONFIGURE)

    assert [shifted(more), shifted(less), shifted(change(GIB, GIB))] == [GIB, -GIB, None]
    assert expected([more, less], GPU) is None


def test_a_reading_in_which_two_things_changed_tells_of_neither(rows: FleetRows) -> None:
    server, now = rows.servers["prod-1"], timezone.now()
    kept = []
    for models, loaded in (
        (["digits"], [("digits", 1)]),
        (["digits", "letters"], [("digits", 1)]),
        (["digits"], [("digits", 1), ("letters", 1)]),
    ):
        services.begin_reading(server, devices=[card(GIB)], loaded=[("digits", 1)], now=now)
        for model in models:
            services.note_reconfiguring(server, model=model, version=1, beside=None)
        services.end_reading(MemoryReading.objects.get(ended_at=None), devices=[card(2 * GIB)], loaded=loaded, now=now)
        kept.append(MemoryReading.objects.latest("pk"))

    assert [(one.action, one.model) for one in kept] == [("reconfigure", "digits"), ("mixed", ""), ("mixed", "")]
    assert selectors.expectations("digits", {1}) == {}


def test_a_reading_that_somebody_adds_to_while_it_is_ended_stays_open(rows: FleetRows) -> None:
    server, now = rows.servers["prod-1"], timezone.now()
    services.begin_reading(server, devices=[card(GIB)], loaded=[("digits", 1)], now=now)
    read = MemoryReading.objects.get()

    services.note_reconfiguring(server, model="digits", version=1, beside=2)
    services.end_reading(read, devices=[card(GIB)], loaded=[("digits", 1)], now=now)

    assert MemoryReading.objects.get().ended_at is None
    assert MemoryReading.objects.get().remark == "together with version 2"


def test_what_an_unload_did_not_give_back_is_a_leak_until_it_is_seen_to_have_come_back() -> None:
    took = Taken(GPU, 2 * GIB)
    kept = change(3 * GIB, 3 * GIB, action=Action.UNLOAD)
    half = change(3 * GIB, 2 * GIB, action=Action.UNLOAD)
    whole = change(3 * GIB, GIB, action=Action.UNLOAD)

    assert [leaked(one, took, []) for one in (kept, half, whole)] == [2 * GIB, GIB, 0]
    assert leaked(kept, took, [[card(GIB)]]) == 0
    assert leaked(kept, took, [[card(5 * GIB)]]) == 2 * GIB
    assert leaked(kept, None, []) == 0


def elsewhere(rows: FleetRows) -> Server:
    rows.environment("staging")
    return rows.server("staging-1", "staging")


def plan_of(server: str) -> tuple[int | None, int | None, str]:
    plan = services.plan_promotion(COMMAND, environment="prod", model="digits", version=2)
    return next((one.expected_bytes, one.free_bytes, one.memory) for one in plan.servers if one.server == server)


def test_a_plan_says_unknown_where_nothing_was_measured_and_is_not_stopped_by_it(rows: FleetRows) -> None:
    plan = services.plan_promotion(COMMAND, environment="prod", model="digits", version=2)

    assert {(one.expected_bytes, one.free_bytes, one.memory) for one in plan.servers} == {(None, None, "unknown")}
    assert plan.obstacles == ()


def test_a_plan_expects_what_the_version_took_elsewhere_against_what_is_free_here(rows: FleetRows) -> None:
    reading(elsewhere(rows), "digits", 2, before=GIB, after=5 * GIB)
    reading(rows.servers["prod-1"], "digits", 1, before=9 * GIB, after=13 * GIB)
    reading(rows.servers["prod-2"], "digits", 1, before=GIB, after=5 * GIB)

    assert plan_of("prod-1") == (4 * GIB, 3 * GIB, "short")
    assert plan_of("prod-2") == (4 * GIB, 11 * GIB, "fits")


def test_a_plan_lets_go_of_the_standby_where_the_policy_allows_it(rows: FleetRows) -> None:
    prod = rows.placements["digits", "prod"]
    rows.version("digits", 9)
    prod.standby = rows.versions["digits", 9]
    prod.save()
    reading(elsewhere(rows), "digits", 2, before=GIB, after=5 * GIB)
    reading(rows.servers["prod-1"], "digits", 1, before=9 * GIB, after=13 * GIB)
    before = plan_of("prod-1")
    services.update_environment(COMMAND, name="prod", drop_standby=True)

    assert (before[2], plan_of("prod-1")[2]) == ("short", "drops_standby")


def test_a_server_that_restarted_since_it_was_read_is_unknown(rows: FleetRows) -> None:
    reading(rows.servers["prod-1"], "digits", 2, before=GIB, after=5 * GIB, at=timezone.now() - timedelta(hours=1))
    Observation.objects.filter(server__name="prod-1").update(restarted_at=timezone.now())

    assert plan_of("prod-1") == (4 * GIB, None, "unknown")


def leaks_of(rows: FleetRows) -> list[tuple[str, int, int]]:
    rows.servers["prod-1"].refresh_from_db()
    found = selectors.server_memory(rows.servers["prod-1"]).leaks
    return [(one.model, one.version, one.missing_bytes) for one in found]


def test_a_leak_is_told_until_the_version_is_loaded_again_or_the_server_starts_anew(rows: FleetRows) -> None:
    server, now = rows.servers["prod-1"], timezone.now()
    reading(server, "digits", 2, before=GIB, after=5 * GIB, at=now - timedelta(minutes=9))
    leaking = {"before": 5 * GIB, "after": 5 * GIB, "action": "unload"}
    reading(server, "digits", 2, **leaking, at=now - timedelta(minutes=8))  # type: ignore[arg-type]

    unloaded = leaks_of(rows)
    reading(server, "digits", 2, before=5 * GIB, after=5 * GIB, at=now - timedelta(minutes=7))
    loaded = leaks_of(rows)
    reading(server, "digits", 2, **leaking, at=now - timedelta(minutes=6))  # type: ignore[arg-type]
    again = leaks_of(rows)
    Observation.objects.filter(server=server).update(restarted_at=now)

    assert unloaded == again == [("digits", 2, 4 * GIB)]
    assert loaded == leaks_of(rows) == []


def test_one_reading_is_open_per_server_and_one_that_saw_no_change_leaves_no_row(rows: FleetRows) -> None:
    server, now = rows.servers["prod-1"], timezone.now()
    for used in (GIB, 2 * GIB):
        services.begin_reading(server, devices=[card(used)], loaded=[("digits", 1)], now=now - timedelta(seconds=9))
    kept = MemoryReading.objects.get()
    due = selectors.due_readings(now)

    services.end_reading(kept, devices=[card(3 * GIB)], loaded=[("digits", 1)], now=now)

    assert kept.before[0]["used"] == GIB
    assert due == [kept.pk]
    assert not MemoryReading.objects.exists()


def test_after_a_rollout_over_many_servers_readings_take_turns(rows: FleetRows) -> None:
    now = timezone.now()
    for number in range(30):
        server = rows.server(f"more-{number}", "prod")
        services.begin_reading(server, devices=[card(GIB)], loaded=[], now=now - timedelta(seconds=9))

    turns = [set(selectors.due_readings(now)) for _ in range(30)]

    assert {len(turn) for turn in turns} == {20}
    assert len(set().union(*turns)) == 30


def test_a_reading_is_not_due_while_a_rollout_works_on_its_server(rows: FleetRows) -> None:
    now = timezone.now()
    services.begin_reading(rows.servers["prod-1"], devices=[card(GIB)], loaded=[], now=now - timedelta(seconds=9))
    moving = rows.rollout("digits", "prod", 1, 2, state="running")
    busy = selectors.due_readings(now)
    moving.runs.update(state="succeeded", finished_at=now - timedelta(seconds=2))
    just_done = selectors.due_readings(now)

    assert busy == just_done == []
    assert len(selectors.due_readings(now + timedelta(seconds=5))) == 1


def test_what_a_thousand_servers_have_just_loaded_does_not_hide_what_is_known_of_another(rows: FleetRows) -> None:
    server, an_hour_ago = rows.servers["prod-1"], timezone.now() - timedelta(hours=1)
    reading(server, "digits", 2, before=GIB, after=3 * GIB, at=an_hour_ago)
    for _ in range(24):
        reading(server, "digits", 1, before=GIB, after=2 * GIB)

    found = selectors.expectations("digits", {1, 2})

    assert found == {(1, GPU): Taken(GPU, GIB), (2, GPU): Taken(GPU, 2 * GIB)}
