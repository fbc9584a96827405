"""Policies in force: numbered, audited, and kept by the rollouts that began under them."""

import pytest

from apps.access.services import actor_of, add_user, grant_role
from apps.audit import selectors as audit
from apps.common.actor import COMMAND
from apps.common.errors import NotAllowed
from apps.deployments import selectors, services
from apps.deployments.errors import PolicyChanged, PolicyInvalid
from apps.fleet import selectors as fleet
from tests.factories.fleets import FleetRows


def test_an_environment_without_a_policy_has_the_default_under_number_0(rows: FleetRows) -> None:
    row = selectors.policy_row(fleet.get_environment("prod"))

    assert (row.number, row.actor) == (0, "conch")
    assert selectors.policy_of(fleet.get_environment("prod")).waves == ("100%",)


def test_each_change_has_a_number_and_says_what_was(rows: FleetRows) -> None:
    services.change_policy(COMMAND, environment="prod", document={"parallel": 2})
    services.change_policy(COMMAND, environment="prod", document={"parallel": 3}, reason="more servers")

    assert [row.number for row in selectors.policies("prod")] == [2, 1]
    event = audit.events(environment="prod").filter(verb="change_policy").first()
    assert event is not None
    assert (event.reason, event.detail["was"], event.detail["now"]) == (
        "more servers",
        {"parallel": 2},
        {"parallel": 3},
    )


def test_the_same_policy_again_writes_nothing(rows: FleetRows) -> None:
    services.change_policy(COMMAND, environment="prod", document={"parallel": 2})
    services.change_policy(COMMAND, environment="prod", document={"parallel": 2})

    assert selectors.policies("prod").count() == 1


def test_of_two_admins_who_change_it_the_second_is_told(rows: FleetRows) -> None:
    services.change_policy(COMMAND, environment="prod", document={"parallel": 2}, based_on=0)

    with pytest.raises(PolicyChanged, match="policy 1 of prod"):
        services.change_policy(COMMAND, environment="prod", document={"parallel": 3}, based_on=0)


def test_a_promotion_that_must_have_run_elsewhere_needs_another_environment(rows: FleetRows) -> None:
    with pytest.raises(PolicyInvalid, match="there are: none yet"):
        services.change_policy(COMMAND, environment="prod", document={"after": {"environment": "prod"}})


def test_a_policy_is_an_admins_to_change(rows: FleetRows) -> None:
    operator = add_user(COMMAND, username="olga", password="a long password")
    grant_role(COMMAND, username="olga", environment="prod", role="operator")

    with pytest.raises(NotAllowed):
        services.change_policy(actor_of(operator, door="api", address=""), environment="prod", document={"parallel": 2})


def test_a_rollout_keeps_the_policy_it_began_with(rows: FleetRows) -> None:
    services.update_environment(COMMAND, name="prod", standby_window_s=77)
    rollout = services.promote(COMMAND, environment="prod", model="digits", version=2)
    services.update_environment(COMMAND, name="prod", standby_window_s=1, rank=4)

    assert selectors.rollout_policy(rollout).standby_window_s == 77
    assert rollout.policy_number == 1
    assert selectors.policy_of(fleet.get_environment("prod")).standby_window_s == 1


def test_a_rollout_begun_before_there_were_policies_goes_by_the_environments(rows: FleetRows) -> None:
    services.update_environment(COMMAND, name="prod", standby_window_s=77)

    old = rows.rollout("digits", "prod", 1, 2, state="running")

    assert selectors.rollout_policy(old).standby_window_s == 77
