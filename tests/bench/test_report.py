"""Results are written in one shape, and the page is made of them."""

import json
from pathlib import Path
from typing import Any

import pytest

from bench import report
from bench.figures import Figure

FIGURE = {"name", "value", "unit", "beside", "bar", "holds"}
RESULT = {"name", "commit", "machine", "at", "figures", "samples"}
MACHINE = {"cores", "memory_gib", "cpu", "python", "triton"}
ENDINGS = {
    "rollback": ("hot_p50_ms", "hot_p95_ms", "failed_requests"),
    "promote": ("overhead_s", "stall_ratio", "failed_requests"),
    "pages": ("p95_ms", "queries"),
    "intake": ("throughput_ratio", "ready_ratio", "rss_mb"),
    "charts": ("ratio", "queries"),
    "console": ("first_paint_ms", "interaction_ms", "layout_shift", "step_shown_s"),
    "fleet": ("observe_s", "cores", "rollout_extra_s", "rollout_workers", "page_p95_ms", "rows_grown", "growth"),
}
COMMITTED = sorted(report.RESULTS.glob("*.json"))


def written(folder: Path, name: str, *figures: Figure) -> dict[str, Any]:
    """What the report wrote."""
    file = report.write(
        name, figures, {"conch": [1, 2]}, at="2026-01-01T00:00:00+00:00", triton="2.51.0", folder=folder
    )
    found: dict[str, Any] = json.loads(file.read_text())
    return found


def figure_of(told: dict[str, Any]) -> Figure:
    """A committed figure as the code would judge it."""
    return Figure(told["name"], told["value"], told["unit"], told["bar"])


def test_a_throughput_must_be_at_least_its_bar_and_the_page_says_so(tmp_path: Path) -> None:
    low, high = Figure("tus_throughput_ratio", 0.5, "", 0.6), Figure("tus_throughput_ratio", 0.7, "", 0.6)
    written(tmp_path, "intake", low)

    page = report.render(tmp_path)

    assert (low.holds, high.holds) == (False, True)
    assert "| `tus_throughput_ratio` | **0.5** | at least 0.6 | **no** |" in page


def test_a_result_has_exactly_the_agreed_parts(tmp_path: Path) -> None:
    result = written(tmp_path, "rollback", Figure("hot_p50_ms", 42.5, "ms", 150, {"poll mode": None}))

    assert set(result) == RESULT
    assert set(result["machine"]) == MACHINE
    assert [set(figure) for figure in result["figures"]] == [FIGURE]
    assert result["samples"] == {"conch": [1, 2]}


def test_the_page_shows_value_bar_and_what_stands_beside(tmp_path: Path) -> None:
    written(
        tmp_path,
        "rollback",
        Figure("hot_p50_ms", 42.5, "ms", 150, {"poll mode": 4_900, "bare": None}),
        Figure("failed_requests", 3, "", 0, {"poll mode": 1, "bare": 0}),
    )

    page = report.render(tmp_path)

    assert "| `hot_p50_ms` | **42.5 ms** | 150 ms | yes | 4,900 ms | - |" in page
    assert "| `failed_requests` | **3** | 0 | **no** | 1 | 0 |" in page


def test_pages_stand_one_to_a_line_with_their_sizes_side_by_side(tmp_path: Path) -> None:
    figures = [
        Figure(f"model_detail_{rows}_{ending}", value, unit, bar)
        for rows, ms, queries in ((10, 12, 7), (1_000, 130, 7))
        for ending, value, unit, bar in (("p95_ms", ms, "ms", 100), ("queries", queries, "", 7))
    ]
    written(tmp_path, "pages", *figures)

    page = report.render(tmp_path)

    assert "| page | p95 at 10 | p95 at 1,000 | queries at 10 | queries at 1,000 | holds |" in page
    assert "| `model_detail` | 12 ms | 130 ms | 7 | 7 | **no** |" in page


@pytest.mark.parametrize("file", COMMITTED, ids=lambda file: file.stem)
def test_a_committed_result_has_the_agreed_shape(file: Path) -> None:
    result = json.loads(file.read_text())

    assert set(result) == RESULT
    assert result["name"] == file.stem
    assert set(result["machine"]) == MACHINE
    assert all(set(figure) == FIGURE for figure in result["figures"])
    assert all(figure["name"].endswith(ENDINGS[file.stem]) for figure in result["figures"])
    assert all(figure["holds"] == figure_of(figure).holds for figure in result["figures"])


def test_the_committed_page_is_made_of_the_committed_results() -> None:
    assert report.PAGE.read_text() == report.render()
