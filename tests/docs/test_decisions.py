"""docs/decisions: one document a decision, and a reason for every library."""

import re
import tomllib
from pathlib import Path

import pytest

from tests.docs import documents

PAGES = sorted((documents.ROOT / "docs" / "decisions").glob("*.md"))
LIBRARIES = tomllib.loads(documents.text("pyproject.toml"))["project"]["dependencies"]


def name_of(requirement: str) -> str:
    """The package's name without versions and extras."""
    return re.split(r"[\[<>=!~ ]", requirement, maxsplit=1)[0]


@pytest.mark.parametrize("library", [name_of(requirement) for requirement in LIBRARIES])
def test_every_runtime_library_has_its_reason(library: str) -> None:
    told = [document.name for document in PAGES if f"`{library}`" in document.read_text(encoding="utf-8")]

    assert told


def test_no_reason_is_given_for_a_library_that_is_gone() -> None:
    rows = documents.table(documents.text("docs/decisions/0011-libraries.md"), head="library")

    assert {row.split("`")[0] for row in rows} == {name_of(requirement) for requirement in LIBRARIES}


@pytest.mark.parametrize("document", PAGES, ids=lambda document: document.name)
def test_a_decision_s_title_has_its_number(document: Path) -> None:
    number = document.name[:4]

    assert document.read_text(encoding="utf-8").startswith(f"# {number} ")


def test_no_two_decisions_have_one_number() -> None:
    numbers = [document.name[:4] for document in PAGES]

    assert len(set(numbers)) == len(numbers)
