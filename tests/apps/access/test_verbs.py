"""The table of verbs is whole, and the only one."""

import re
from pathlib import Path

import pytest

from apps.access.verbs import SCOPES, VERBS, Role, do_scopes_allow, is_enough

ROOT = Path(__file__).resolve().parents[3]
USED = re.compile(r"""(?:require|may)\(\s*[\w.]+,\s*"(\w+)\"""")


def verbs_in_code() -> set[str]:
    files = [file for folder in ("apps", "worker") for file in (ROOT / folder).rglob("*.py")]
    return {verb for file in files for verb in USED.findall(file.read_text(encoding="utf-8"))}


def test_every_verb_that_code_asks_for_is_in_the_table() -> None:
    assert verbs_in_code() <= set(VERBS)


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_a_role_that_is_enough_stays_enough_further_up(verb: str) -> None:
    allowed = [is_enough(role, verb) for role in Role]

    assert allowed == sorted(allowed)
    assert allowed[-1]


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_the_read_scope_only_looks_and_the_admin_scope_does_all(verb: str) -> None:
    assert do_scopes_allow(frozenset({"read"}), verb) == (VERBS[verb] == Role.VIEWER)
    assert do_scopes_allow(frozenset({"admin"}), verb)


def test_the_discovery_scope_opens_discovery_alone() -> None:
    opened = {verb for verb in VERBS if do_scopes_allow(frozenset({"sd:read"}), verb)}

    assert opened == {"discover"}


def test_the_load_balancers_scope_opens_its_question_alone() -> None:
    opened = {verb for verb in VERBS if do_scopes_allow(frozenset({"in-service:read"}), verb)}

    assert opened == {"see_in_service"}


def test_the_deploy_scope_does_what_an_operator_does() -> None:
    opened = {verb for verb in VERBS if do_scopes_allow(frozenset({"deploy"}), verb)}

    assert opened == {verb for verb in VERBS if is_enough(Role.OPERATOR, verb)}


def test_an_unknown_scope_opens_nothing() -> None:
    assert not any(do_scopes_allow(frozenset({"root"}), verb) for verb in VERBS)
    assert "root" not in SCOPES


def test_an_unknown_verb_is_a_defect() -> None:
    with pytest.raises(KeyError):
        is_enough(Role.ADMIN, "fly")
