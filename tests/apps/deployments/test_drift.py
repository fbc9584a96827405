"""Desired minus observed, and what is done about it. Pure."""

from datetime import UTC, datetime, timedelta

import pytest

from apps.deployments import healing
from apps.deployments.drift import Desired, Difference, Sight, drift
from apps.deployments.healing import Case, decide, next_try_at

NOW = datetime(2026, 11, 30, 3, 0, tzinfo=UTC)
READY = Sight("READY")


def kinds(found: list[Difference]) -> list[tuple[int, str]]:
    return [(each.version, each.kind) for each in found]


def desired(*versions: int, active: int | None = None) -> dict[str, Desired]:
    return {"m": Desired(frozenset(versions), active or max(versions, default=None), under="new")}


def test_no_drift_when_the_server_serves_what_is_desired() -> None:
    assert drift(desired(1, 2), {"m": {1: READY, 2: Sight("READY", under="new")}}, now=NOW) == []


@pytest.mark.parametrize(
    ("seen", "kind"),
    [
        ({}, "missing"),
        ({1: Sight("UNAVAILABLE", "unloaded")}, "missing"),
        ({1: Sight("UNLOADING")}, "missing"),
        ({1: Sight("UNAVAILABLE", "boom")}, "failed"),
        ({1: Sight("LOADING", since=NOW)}, "loading"),
        ({1: Sight("READY", has_restarted=True)}, "restarted"),
        ({1: Sight("READY", under="old")}, "wrong_config"),
    ],
)
def test_a_desired_version_can_be_away_in_different_ways(seen: dict[int, Sight], kind: str) -> None:
    assert kinds(drift(desired(1), {"m": seen}, now=NOW)) == [(1, kind)]


def test_another_version_instead_of_the_desired_one_is_the_wrong_set() -> None:
    assert kinds(drift(desired(1), {"m": {4: READY}}, now=NOW)) == [(1, "wrong_set"), (4, "wrong_set")]


def test_another_version_below_the_desired_one_is_extra_and_above_it_the_wrong_set() -> None:
    assert kinds(drift(desired(3), {"m": {1: READY, 3: READY}}, now=NOW)) == [(1, "extra")]
    assert kinds(drift(desired(3), {"m": {3: READY, 4: READY}}, now=NOW)) == [(4, "wrong_set")]


def test_what_is_loaded_of_an_unloaded_model_is_extra_and_of_an_unplaced_one_nobodys_drift() -> None:
    assert kinds(drift(desired(), {"m": {1: READY}, "unplaced": {1: READY}}, now=NOW)) == [(1, "extra")]


@pytest.mark.parametrize("name", ["m", "m.shadow"])
@pytest.mark.parametrize("state", ["LOADING", "UNLOADING"])
def test_what_takes_longer_than_the_model_is_given_is_stuck(name: str, state: str) -> None:
    seen = {"m": {1: READY}, name: {2: Sight(state, since=NOW - timedelta(seconds=301))}}

    found = drift({"m": Desired(frozenset({1, 2} if name == "m" else {1}), 1)}, {"m": {1: READY}, **seen}, now=NOW)

    assert (name, 2, "stuck") in [each.key for each in found]
    assert {each.owner for each in found} == {"m"}


def case(model: str = "m", *kinds: str, **fields: object) -> Case:
    known: dict[str, object] = {"server_id": 1, "placement_id": 1, "serves_active": False, **fields}
    return Case(model=model, kinds=frozenset(kinds), **known)  # type: ignore[arg-type]


def why_not(*cases: Case, under_way: int = 0) -> list[str]:
    return [one.why_not for one in decide(cases, under_way={1: under_way}, now=NOW)]


@pytest.mark.parametrize("kind", ["missing", "restarted", "failed", "wrong_set"])
def test_what_loading_can_mend_is_healed_at_once(kind: str) -> None:
    assert why_not(case("m", kind)) == [""]


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ("extra", healing.ONLY_TOLD),
        ("stuck", healing.RESTART),
        ("unreachable", healing.NO_ANSWER),
        ("loading", healing.UNDER_WAY),
    ],
)
def test_what_loading_cannot_mend_only_tells(kind: str, says: str) -> None:
    assert why_not(case("m", kind)) == [says]


def test_an_extra_version_is_never_dropped_while_the_active_one_serves() -> None:
    assert why_not(case("m", "missing", "extra", serves_active=True)) == [healing.IN_THE_WAY]
    assert why_not(case("m", "wrong_set", "extra", serves_active=False)) == [""]


def test_a_version_that_answers_instead_of_the_active_one_is_told_of_and_left_alone() -> None:
    assert why_not(case("m", "wrong_set", serves_active=True)) == [healing.ABOVE]


def test_whoever_says_no_is_named_even_to_a_person_who_asks() -> None:
    assert why_not(case("m", "missing", refusal="prod-1 is cordoned", is_asked=True)) == ["prod-1 is cordoned"]


def test_switched_off_it_waits_for_a_person() -> None:
    assert why_not(case("m", "missing", heals_itself=False)) == [healing.SWITCHED_OFF]
    assert why_not(case("m", "missing", heals_itself=False, is_asked=True)) == [""]


def test_the_pause_doubles_and_ends_at_ten_minutes() -> None:
    pauses = [next_try_at(attempts=attempts, last_at=NOW) for attempts in (1, 2, 3, 50)]

    assert [(at - NOW).total_seconds() for at in pauses if at] == [10, 20, 40, 600]
    assert next_try_at(attempts=0, last_at=None) is None


def test_a_heal_that_did_not_help_is_tried_again_later_and_says_when() -> None:
    tried = case("m", "missing", attempts=2, last_at=NOW - timedelta(seconds=5))

    (decision,) = decide([tried], under_way={}, now=NOW)

    assert decision.next_at == NOW + timedelta(seconds=15)
    assert why_not(case("m", "missing", attempts=2, last_at=NOW - timedelta(seconds=20))) == [""]
    assert why_not(case("m", "missing", attempts=2, last_at=NOW, is_asked=True)) == [""]


def test_members_come_before_the_ensemble_on_the_same_server() -> None:
    ensemble = case("ens", "missing", members=("core", "prep"))

    assert why_not(ensemble, case("core", "missing")) == ["", "its members come first: core"]
    assert why_not(ensemble, case("core", "missing", server_id=2)) == ["", ""]


def test_a_member_that_is_being_healed_is_waited_for_like_one_that_is_away() -> None:
    ensemble = case("ens", "missing", members=("core",))

    (decision,) = decide([ensemble], under_way={1: 1}, unsettled={(1, "core"), (2, "prep")}, now=NOW)

    assert decision.why_not == "its members come first: core"


def test_a_server_loads_a_few_models_at_a_time() -> None:
    many = [case(f"m{number}", "missing") for number in range(6)]

    assert why_not(*many, under_way=1) == ["", "", "", *[healing.ITS_TURN] * 3]


def test_the_same_cases_give_the_same_decisions() -> None:
    cases = [case("b", "missing"), case("a", "extra"), case("a", "failed", server_id=2)]

    assert decide(cases, under_way={}, now=NOW) == decide(list(reversed(cases)), under_way={}, now=NOW)
