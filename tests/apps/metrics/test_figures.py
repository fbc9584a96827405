"""Figures are what plotly.py accepts, and show what they should: gaps, ends, promises and marks."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import plotly.graph_objects as plotly
import pytest

from apps.deployments.states import RolloutState
from apps.metrics import palettes
from apps.metrics.catalogue import CHARTS, Chart
from apps.metrics.figures import HEIGHT_PX, Line, figure
from apps.metrics.labels import LINE_PX, Label, place, shown
from apps.metrics.limits import Limit
from apps.metrics.marks import SYMBOLS
from apps.metrics.windows import Window

WINDOW = Window(start_s=1_800_000_000, end_s=1_800_000_060, step_s=15)
LATENCY = CHARTS["latency"]
V1 = Line("v1 p99", slot=0, values=(1.0, 2.0, None, None, 4.0))
V2 = Line("v2 p99", slot=1, values=(None, None, 30.0, 31.0, 31.25))
ENDS = ("began", "rollback", "succeeded", "rolled_back", "failed")
KINDS = (*ENDS, "restart", "drift", "in_line")


@dataclass(frozen=True)
class Moment:
    at: datetime
    kind: str
    label: str = "promote digits 1 > 2 in prod, by ann: because"
    url: str = "/rollouts/7/"


def marks(*kinds: str) -> list[Moment]:
    return [Moment(datetime.fromtimestamp(WINDOW.start_s + 20, tz=UTC), kind) for kind in kinds]


@pytest.mark.parametrize("chart", CHARTS.values(), ids=lambda chart: chart.key)
def test_every_chart_is_a_figure_by_plotlys_own_schema(chart: Chart) -> None:
    drawn = figure(chart, [V1, V2], WINDOW, marks=marks(*KINDS), limits=[Limit("SLO", 60)])

    accepted = plotly.Figure(drawn)

    assert len(accepted.data) == 3


def test_a_gap_stays_a_gap() -> None:
    trace = figure(LATENCY, [V1], WINDOW)["data"][0]

    assert trace["y"] == [1.0, 2.0, None, None, 4.0]
    assert trace["connectgaps"] is False


def test_a_point_between_two_gaps_is_a_dot() -> None:
    lonely, smooth = figure(LATENCY, [V1, V2], WINDOW)["data"]

    assert (lonely["mode"], lonely["marker"]["size"]) == ("lines+markers", [0, 0, 0, 0, 5])
    assert smooth["mode"] == "lines"


def test_points_stand_at_their_times() -> None:
    trace = figure(LATENCY, [V1], WINDOW)["data"][0]

    assert (trace["x0"], trace["dx"]) == (1_800_000_000_000, 15_000)


def test_the_axis_begins_at_zero_and_carries_the_unit() -> None:
    axis = figure(LATENCY, [V2], WINDOW)["layout"]["yaxis"]

    assert axis["range"][0] == 0
    assert axis["range"][1] > 31.25
    assert axis["title"]["text"] == "ms"


def test_the_last_value_stands_at_the_lines_end() -> None:
    layout = figure(LATENCY, [V1, V2], WINDOW)["layout"]

    notes = {note["text"]: note["x"] for note in layout["annotations"]}
    assert notes == {"v1 p99 4.00": WINDOW.end_s * 1000, "v2 p99 31.2": WINDOW.end_s * 1000}
    assert layout["showlegend"] is False


def test_a_line_that_ended_is_labelled_beside_the_plot_and_says_so() -> None:
    ended = Line("v1", slot=0, values=(1.0, 2.0, None, None, None))

    note = figure(LATENCY, [ended], WINDOW)["layout"]["annotations"][0]

    assert (note["x"], note["text"]) == (WINDOW.end_s * 1000, "v1 2.00 (ended)")


def test_the_promise_is_a_line_at_its_value() -> None:
    layout = figure(LATENCY, [V2], WINDOW, limits=[Limit("SLO", 60)])["layout"]

    assert [(shape["y0"], shape["y1"]) for shape in layout["shapes"]] == [(60, 60)]
    assert layout["yaxis"]["range"][1] > 60
    assert "SLO 60.0 ms" in [note["text"] for note in layout["annotations"]]


def test_limits_that_coincide_share_one_text() -> None:
    layout = figure(LATENCY, [V2], WINDOW, limits=[Limit("SLO", 60), Limit("gate p99", 60)])["layout"]

    assert [note["text"] for note in layout["annotations"] if note["name"] == "slo"] == ["SLO, gate p99 60.0 ms"]


def test_a_promise_far_above_does_not_flatten_the_lines() -> None:
    layout = figure(LATENCY, [V2], WINDOW, limits=[Limit("SLO", 5_000)])["layout"]

    assert layout["yaxis"]["range"][1] < 60
    assert "SLO 5,000 ms (above)" in [note["text"] for note in layout["annotations"]]


@pytest.mark.parametrize("kind", KINDS)
def test_a_mark_is_a_vertical_line_that_says_what_and_leads_to_its_rollout(kind: str) -> None:
    drawn = figure(LATENCY, [V2], WINDOW, marks=marks(kind))

    shape, points = drawn["layout"]["shapes"][0], drawn["data"][-1]
    assert (shape["name"], shape["x0"], shape["x1"]) == (kind, 1_800_000_020_000, 1_800_000_020_000)
    assert points["text"] == ["promote digits 1 &gt; 2 in prod, by ann: because"]
    assert points["customdata"] == ["/rollouts/7/"]


def test_every_end_of_a_rollout_can_be_marked() -> None:
    ends = {state.value for state in (RolloutState.SUCCEEDED, RolloutState.ROLLED_BACK, RolloutState.FAILED)}

    assert {"began", "rollback", *ends} == set(ENDS)
    assert set(KINDS) == set(SYMBOLS)
    assert set(KINDS) <= set(palettes.LIGHT)


def test_a_mark_outside_the_window_is_not_drawn() -> None:
    early = Moment(datetime.fromtimestamp(WINDOW.start_s - 1, tz=UTC), "began")

    drawn = figure(LATENCY, [V2], WINDOW, marks=[early])

    assert (len(drawn["data"]), drawn["layout"]["shapes"]) == (1, [])


def test_hostile_names_are_text_and_not_markup() -> None:
    drawn = figure(LATENCY, [Line('<a href="javascript:x">v1', slot=0, values=(1.0,) * 5)], WINDOW)

    assert "<a" not in str(drawn)


def test_labels_of_equal_values_do_not_cover_each_other() -> None:
    labels = [Label(slot, 10.0, f"v{slot}") for slot in range(6)]

    heights = [10.0 / 11 * 180 + label.shift_px for label in place(labels, top=11, height_px=180)]

    assert all(after - before >= LINE_PX - 0.2 for before, after in itertools.pairwise(heights))
    assert max(heights) <= HEIGHT_PX


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.0312, "0.031"),
        (1.234, "1.23"),
        (31.25, "31.2"),
        (812.4, "812"),
        (2_143.7, "2,144"),
        (1e-6, "1.0e-06"),
    ],
)
def test_values_are_shown_in_about_three_digits(value: float, text: str) -> None:
    assert shown(value) == text


def test_a_version_keeps_its_colour_and_neighbours_differ() -> None:
    slots = [palettes.slot_of_version(str(number), model="digits") for number in range(1, 9)]

    assert len(set(slots)) == 8
    assert slots[0] == palettes.slot_of_version("1", model="digits")


@pytest.mark.parametrize("version", ["", "x", "\N{SUPERSCRIPT TWO}", "9" * 5_000])
def test_what_is_no_version_has_a_colour_too(version: str) -> None:
    assert 0 <= palettes.slot_of_version(version) < palettes.SLOTS


def pairs() -> Iterator[Any]:
    for theme, palette, surfaces in (
        ("light", palettes.LIGHT, ("#ffffff", "#f5f6f8")),
        ("dark", palettes.DARK, ("#161a21", "#0e1116")),
    ):
        for (role, colour), surface in itertools.product(palette.items(), surfaces):
            if role != "grid":
                yield pytest.param(colour, surface, id=f"{theme}-{role}-on-{surface}")


@pytest.mark.parametrize(("colour", "surface"), list(pairs()))
def test_every_colour_can_be_read_on_its_themes_surfaces(colour: str, surface: str) -> None:
    lighter, darker = sorted((luminance(colour), luminance(surface)), reverse=True)

    assert (lighter + 0.05) / (darker + 0.05) >= 4.5


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2 defines it."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
