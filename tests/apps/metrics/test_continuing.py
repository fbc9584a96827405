"""An answer goes on from what is known: asked are the new points, and shown is what one question would have shown."""

import math
import random
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as some
from pytest_django import Settings

from apps.metrics.answers import Answers
from apps.metrics.continuing import WHOLE_EVERY_S, Known
from apps.metrics.prometheus import Reply, Series
from apps.metrics.windows import UNSETTLED_POINTS, Window
from demo.parts.ports import free_port
from tests.apps.metrics.doubles import Asked, ScriptedPrometheus, matrix

STEP_S = 15
FIRST = Window(start_s=3_000, end_s=6_000, step_s=STEP_S)


def moved(steps: int, window: Window = FIRST) -> Window:
    return Window(window.start_s + steps * window.step_s, window.end_s + steps * window.step_s, window.step_s)


def world(seed: int) -> dict[str, dict[int, float]]:
    """Three series with gaps, one of which ends and one of which begins somewhere."""
    dice = random.Random(seed)
    spans = {
        "a": (0, 9_000),
        "ends": (0, dice.randrange(3_000, 7_000)),
        "begins": (dice.randrange(3_000, 7_000), 9_000),
    }
    return {
        name: {second: dice.random() for second in range(*span, STEP_S) if dice.random() < 0.8}
        for name, span in ((name, (since - since % STEP_S, until)) for name, (since, until) in spans.items())
    }


def told(known: dict[str, dict[int, float]], window: Window) -> Reply:
    """What Prometheus would say: only series that have a point in the window."""
    seconds = range(window.start_s, window.end_s + 1, window.step_s)
    rows = {name: tuple(values.get(second) for second in seconds) for name, values in known.items()}
    return Reply(tuple(Series({"server": name}, row) for name, row in rows.items() if any(x is not None for x in row)))


def rows_of(reply: Reply) -> dict[str, tuple[float | None, ...]]:
    return {one.labels["server"]: one.values for one in reply.series}


@given(seed=some.integers(0, 10_000), steps=some.integers(0, 150))
def test_what_is_joined_is_what_one_question_gives(seed: int, steps: int) -> None:
    truth, window = world(seed), moved(steps)
    known = Known(FIRST, told(truth, FIRST), whole_at_s=0)

    joined = known.joined(told(truth, known.missing(window)), window)

    assert rows_of(joined.reply) == rows_of(told(truth, window))


def test_a_sample_that_came_late_is_in_the_next_answer() -> None:
    truth, window = {"a": dict.fromkeys(range(0, 9000, STEP_S), 1.0)}, moved(1)
    late = truth["a"].pop(FIRST.end_s)
    known = Known(FIRST, told(truth, FIRST), whole_at_s=0)
    truth["a"][FIRST.end_s] = late

    joined = known.joined(told(truth, known.missing(window)), window)

    assert rows_of(joined.reply)["a"][-2] == 1.0


@pytest.mark.parametrize(
    ("window", "now_s"),
    [
        (moved(len(FIRST)), 1.0),
        (moved(-1), 1.0),
        (Window(FIRST.start_s + 4, FIRST.end_s + 4, STEP_S), 1.0),
        (moved(1, Window(3_000, 6_000, 30)), 1.0),
        (moved(1), WHOLE_EVERY_S),
    ],
    ids=["all of it is new", "it lies before", "the points lie elsewhere", "another step", "long not asked whole"],
)
def test_what_does_not_go_on_from_there_is_asked_whole(window: Window, now_s: float) -> None:
    assert not Known(FIRST, Reply(()), whole_at_s=0).serves(window, now_s=now_s)


@pytest.fixture
def alone(settings: Settings) -> None:
    """Without the shared cache: what is asked is this process's own doing."""
    cache = {**settings.CACHES["default"], "LOCATION": f"redis://127.0.0.1:{free_port()}"}
    settings.CACHES = {"default": cache}


def sine(asked: Asked) -> dict[str, Any]:
    given = asked.parameters
    seconds = range(int(given["start"]), int(given["end"]) + 1, int(given["step"]))
    return matrix(({"server": "a"}, [(second, f"{math.sin(second)}") for second in seconds]))


@pytest.mark.usefixtures("alone")
def test_prometheus_is_asked_for_the_new_points_alone(scripted: ScriptedPrometheus) -> None:
    scripted.answer = sine
    answers, promql = Answers(scripted.url), f"sine{uuid4().hex}"
    answers.over(promql, FIRST)

    replies = [answers.over(promql, moved(steps)) for steps in (1, 2)]

    points = [(int(one.parameters["end"]) - int(one.parameters["start"])) // STEP_S + 1 for one in scripted.asked]
    assert points == [len(FIRST), UNSETTLED_POINTS + 2, UNSETTLED_POINTS + 2]
    assert replies[-1].series == Answers(scripted.url).over(promql, moved(2)).series
