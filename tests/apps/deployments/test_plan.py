"""What a change means for the versions a server holds."""

from apps.deployments import plan
from apps.deployments.states import RolloutKind


def test_going_up_keeps_the_old_version_hot_below_the_new_one() -> None:
    trying, final = plan.sets_between(1, 2, stands_beside=True, keep=True)

    assert trying == {1, 2}
    assert final == {1, 2}


def test_going_down_serves_from_the_old_one_until_the_new_one_is_verified() -> None:
    trying, final = plan.sets_between(2, 1, stands_beside=True, keep=True)

    assert trying == {1, 2}
    assert final == {1}


def test_without_a_standby_window_only_the_new_version_stays() -> None:
    assert plan.sets_between(1, 2, stands_beside=True, keep=False) == ({1, 2}, {2})


def test_versions_with_different_configurations_never_stand_side_by_side() -> None:
    assert plan.sets_between(1, 2, stands_beside=False, keep=True) == ({2}, {2})


def test_the_first_version_is_loaded_alone() -> None:
    assert plan.sets_between(None, 7, stands_beside=False, keep=True) == ({7}, {7})


def test_a_promotion_always_tries_the_version_aside_before_it_goes_live() -> None:
    steps = plan.recipe(RolloutKind.PROMOTE, is_hot=True, has_passed_shadow=True)

    assert steps.index("shadow") < steps.index("load") < steps.index("verify") < steps.index("expose")


def test_a_promotion_goes_live_untried_where_the_policy_says_so() -> None:
    steps = plan.recipe(RolloutKind.PROMOTE, is_hot=False, has_passed_shadow=False, skips_shadow=True)

    assert steps == ["preflight", "publish", "load", "await_ready", "verify", "expose"]


def test_a_configuration_is_the_same_whatever_order_its_fields_were_written_in() -> None:
    one, same, other = {"a": 1, "b": [1, 2]}, {"b": [1, 2], "a": 1}, {"a": 1, "b": [2, 1]}

    assert plan.config_digest(one) == plan.config_digest(same)
    assert plan.config_digest(one) != plan.config_digest(other)


def test_a_hot_rollback_only_switches() -> None:
    assert plan.recipe(RolloutKind.ROLLBACK, is_hot=True, has_passed_shadow=True) == ["expose", "await_ready"]


def test_a_cold_rollback_verifies_before_it_exposes() -> None:
    steps = plan.recipe(RolloutKind.ROLLBACK, is_hot=False, has_passed_shadow=True)

    assert "shadow" not in steps
    assert steps.index("load") < steps.index("verify") < steps.index("expose")


X: dict[str, object] = {"name": "x", "datatype": "FP32", "shape": [4]}
Y: dict[str, object] = {"name": "y", "datatype": "FP32", "shape": [1]}


def signature(
    *inputs: dict[str, object], outputs: tuple[dict[str, object], ...] = (Y,), batch: int = 8
) -> dict[str, object]:
    return {"inputs": list(inputs), "outputs": list(outputs), "max_batch_size": batch}


def test_the_same_interface_changes_nothing() -> None:
    assert plan.interface_changes(signature(X), signature(X)) == []


def test_another_input_type_is_named_with_both_types() -> None:
    changed: dict[str, object] = {**X, "datatype": "INT64"}

    assert plan.interface_changes(signature(X), signature(changed)) == ["input x was FP32 [4], becomes INT64 [4]"]


def test_a_new_input_breaks_clients_and_a_new_output_does_not() -> None:
    extra: dict[str, object] = {"name": "z", "datatype": "FP32", "shape": [1]}

    assert plan.interface_changes(signature(X), signature(X, extra)) == ["input z is new"]
    assert plan.interface_changes(signature(X), signature(X, outputs=(Y, extra))) == []


def test_a_new_optional_input_breaks_nobody() -> None:
    optional: dict[str, object] = {"name": "z", "datatype": "FP32", "shape": [1], "is_optional": True}

    assert plan.interface_changes(signature(X), signature(X, optional)) == []


def test_a_smaller_batch_is_a_change_and_a_larger_one_is_not() -> None:
    assert plan.interface_changes(signature(X), signature(X, batch=4)) == ["max_batch_size 8 becomes 4"]
    assert plan.interface_changes(signature(X), signature(X, batch=16)) == []
