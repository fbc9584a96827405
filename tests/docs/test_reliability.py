"""docs/reliability.md is what `make faults` wrote: every row of the table is on it, and every one holds."""

import re

import pytest

from tests.docs import documents
from tests.faults.rows import ROWS

PAGE = "docs/reliability.md"


@pytest.fixture(scope="module")
def told() -> dict[tuple[str, str], str]:
    """What the page says of each row, by kind and name: whether it holds."""
    lines = [line for line in documents.text(PAGE).splitlines() if line.startswith("| ")][1:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if not line.startswith("| ---")]
    return {(kind, name): holds for kind, name, *_, holds in cells}


def test_every_row_of_the_fault_table_is_on_the_page_and_no_other(told: dict[tuple[str, str], str]) -> None:
    assert set(told) == {(row.kind, row.name) for row in ROWS}


def test_every_fault_on_the_page_holds(told: dict[tuple[str, str], str]) -> None:
    assert {row: holds for row, holds in told.items() if holds != "yes"} == {}


def test_the_page_was_written_from_a_commit_and_not_from_changes_beside_it() -> None:
    (commit,) = re.findall(r"commit `([^`]+)`", documents.text(PAGE))

    assert re.fullmatch(r"[0-9a-f]{12}", commit)
