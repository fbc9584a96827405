"""docs/operations.md says what the code does: settings, steps, tasks, commands, codes."""

import re

from celery import current_app
from django.core.management import get_commands

from apps.access.verbs import SCOPES, Role
from apps.api.v1.problems import kinds
from apps.deployments.policy import OnFailure, Policy, Unclear
from apps.metrics.gates import SIGNALS, Gate
from controlplane import env
from tests.docs import documents
from worker.steps import STEPS

PAGE = "docs/operations.md"
CODE = re.compile(r"`([a-z]+(?:_[a-z]+)+)`")
# In backticks like codes, but other things.
NOT_CODES = {
    "not_put_back",
    "list_charts",
    "list_rules",
    "neighbours_hurt",
    "pg_dump",
    "is_stale",
    "no_shadow",
    "wrong_config",
    "wrong_set",
}
POLICY_WORDS = {*Policy.model_fields, *Gate.model_fields, *SIGNALS, *Unclear, *OnFailure}


def schedule() -> dict[str, str]:
    """Task by the clock's entry."""
    return {name: entry["task"] for name, entry in current_app.conf.beat_schedule.items()}


def test_the_table_of_settings_is_the_code_s() -> None:
    found = documents.table(documents.section(PAGE, "Settings"), head="setting")

    wanted = {}
    for setting in env.SETTINGS:
        default = setting.default.replace(f"{env.BASE_DIR}/", "")
        wanted[setting.name] = [f"`{default}`" if default else "none", setting.purpose]
    assert found == wanted


def test_no_setting_is_named_that_does_not_exist() -> None:
    named = set(re.findall(r"CONCH_[A-Z_]+[A-Z]", documents.text(PAGE)))

    assert named <= {setting.name for setting in env.SETTINGS}


def test_every_step_has_a_row() -> None:
    rows = documents.table(documents.section(PAGE, "The steps of a rollout"), head="step")

    assert set(rows) == set(STEPS)


def test_every_entry_of_the_clock_has_a_row_with_its_task() -> None:
    rows = documents.table(documents.section(PAGE, "Workers and the clock"), head="entry")

    assert {name: cells[0].strip("`") for name, cells in rows.items()} == schedule()


def test_every_task_is_told_of() -> None:
    text = documents.section(PAGE, "Workers and the clock")
    by_the_clock = set(schedule().values())
    others = set(documents.table(text, head="other task"))

    current_app.loader.import_default_modules()
    tasks = {name for name in current_app.tasks if name.startswith("conch.")}
    assert by_the_clock | others == tasks


def test_every_command_of_conch_is_told_of() -> None:
    own = {name for name, app in get_commands().items() if app.startswith("apps.")}

    untold = [name for name in own if not re.search(rf"`{name}[ `]", documents.text(PAGE))]

    assert own
    assert untold == []


def test_every_key_of_a_policy_is_told_of() -> None:
    text = documents.section(PAGE, "How promotions go: the policy of an environment")

    assert [key for key in Policy.model_fields if f"`{key}`" not in text] == []


def test_every_code_that_is_named_is_one_of_conch() -> None:
    named = set(CODE.findall(documents.text(PAGE))) - NOT_CODES - set(STEPS) - POLICY_WORDS
    # Given by the rollout itself, when it succeeded and its last step did not.
    given = {"not_persisted"}

    assert named <= set(kinds()) | given


def test_every_role_and_scope_is_told_of() -> None:
    text = documents.section(PAGE, "People, roles, tokens")

    assert set(documents.table(text, head="role")) == {str(role) for role in Role}
    assert all(f"`{scope}`" in text for scope in SCOPES)
