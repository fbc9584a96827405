"""The policy form."""

import pytest
from django.test import Client

from apps.common.actor import COMMAND
from apps.console.forms.policies import PolicyForm
from apps.deployments import selectors, services
from apps.deployments.policy import Policy
from apps.fleet import selectors as fleet
from tests.factories.fleets import FleetRows

WHERE = "/environments/prod/policy/"
RICH = {
    "waves": [1, "25%", "100%"],
    "bake_s": 60,
    "gates": [{"name": "p99", "signal": "latency_quantile", "against": "objective"}],
    "freeze": [{"cron": "0 18 * * 5", "duration_s": 216_000, "zone": "Europe/Berlin"}],
    "after": {"environment": "staging", "minutes": 5},
    "synthetic": {"requests": 7},
    "drop_standby": True,
}


def filled(document: dict[str, object], **changes: object) -> dict[str, object]:
    """What a browser would send back of a form that shows `document`."""
    form = PolicyForm(initial={**PolicyForm.of(document), "based_on": 0})
    shown = {name: form[name].value() for name in form.fields}
    return {name: value for name, value in {**shown, **changes}.items() if value is not None}


@pytest.mark.parametrize("document", [{}, RICH])
def test_a_form_sent_back_as_it_was_shown_changes_nothing(document: dict[str, object]) -> None:
    whole = Policy.parse(document).document()
    form = PolicyForm(filled(whole))

    assert form.is_valid(), form.errors
    assert Policy.parse(form.onto(whole)) == Policy.parse(document)


def test_an_admin_puts_a_policy_in_force(rows: FleetRows, boss: Client) -> None:
    boss.post(WHERE, filled(Policy().document(), waves="1, 100%", parallel=4))

    policy = selectors.policy_of(fleet.get_environment("prod"))
    assert (policy.waves, policy.parallel) == ((1, "100%"), 4)
    assert "1, 100%; 4 at a time" in boss.get("/environments/").content.decode()


def test_a_fault_stands_beside_its_field(rows: FleetRows, boss: Client) -> None:
    answer = boss.post(WHERE, filled(Policy().document(), waves="1, 120%"))

    assert answer.status_code == 400
    assert "such as &quot;25%&quot;" in answer.content.decode()


@pytest.mark.parametrize("waves", ["\N{SUPERSCRIPT TWO}", "\N{ARABIC-INDIC DIGIT THREE}", "9" * 5_000])
def test_what_only_looks_like_a_number_is_refused(waves: str, rows: FleetRows, boss: Client) -> None:
    answer = boss.post(WHERE, filled(Policy().document(), waves=waves))

    assert answer.status_code == 400


@pytest.mark.parametrize("field", ["gates", "freeze", "others"])
@pytest.mark.parametrize("text", ["[" * 100_000, "9" * 5_000])
def test_json_that_cannot_be_read_is_refused(text: str, field: str, rows: FleetRows, boss: Client) -> None:
    assert boss.post(WHERE, filled(Policy().document(), **{field: text})).status_code == 400


def test_the_last_field_sets_nothing_that_has_a_field_of_its_own(rows: FleetRows, boss: Client) -> None:
    answer = boss.post(WHERE, filled(Policy().document(), others='{"waves": [5, "100%"]}'))

    assert answer.status_code == 400
    assert "only these keys: shadow, self_heal" in answer.content.decode()


def test_a_form_shown_before_another_change_is_refused(rows: FleetRows, boss: Client) -> None:
    services.change_policy(COMMAND, environment="prod", document={"parallel": 2})

    answer = boss.post(WHERE, filled(Policy().document(), parallel=9))

    assert answer.status_code == 409
    assert selectors.policy_of(fleet.get_environment("prod")).parallel == 2


def test_an_operator_may_not_change_a_policy(rows: FleetRows, operator: Client) -> None:
    assert operator.post(WHERE, filled(Policy().document(), parallel=9)).status_code == 403
