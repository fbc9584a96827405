"""Many viewers cost what one does, with and without the shared cache, and a silent Prometheus holds nobody up."""

import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any
from uuid import uuid4

import pytest
from pytest_django import Settings

from apps.metrics.answers import Answers
from apps.metrics.errors import PrometheusRefusedQuery, PrometheusTimeout, PrometheusUnreachable
from apps.metrics.windows import Window
from demo.parts.ports import free_port
from tests.apps.metrics.doubles import ScriptedPrometheus, scripted_prometheus

WINDOW = Window(start_s=1_000, end_s=1_060, step_s=15)


@pytest.fixture
def double() -> Iterator[ScriptedPrometheus]:
    with scripted_prometheus() as running:
        running.gives(({}, [(1_000, "1")]))
        yield running


@pytest.fixture
def promql() -> str:
    """A question no other test asks: the shared cache outlives a test."""
    return f'up{{server="{uuid4()}"}}'


@pytest.fixture
def no_cache(settings: Settings) -> None:
    settings.CACHES = cache_at(settings, free_port())


@pytest.fixture
def hung_cache(settings: Settings) -> Iterator[list[socket.socket]]:
    """The connections to something that takes them and never says a word."""
    taken: list[socket.socket] = []
    server = socket.create_server(("127.0.0.1", free_port()))
    settings.CACHES = cache_at(settings, server.getsockname()[1])
    thread = threading.Thread(target=take_connections, args=(server, taken))
    thread.start()
    yield taken
    server.shutdown(socket.SHUT_RDWR)
    thread.join()
    for one in (server, *taken):
        one.close()


def take_connections(server: socket.socket, taken: list[socket.socket]) -> None:
    with suppress(OSError):
        while True:
            taken.append(server.accept()[0])


def cache_at(settings: Settings, port: int) -> dict[str, Any]:
    """The project's own cache, elsewhere."""
    return {"default": {**settings.CACHES["default"], "LOCATION": f"redis://127.0.0.1:{port}"}}


def test_fifty_viewers_at_once_are_one_question(double: ScriptedPrometheus, promql: str) -> None:
    shared = Answers(double.url)

    with ThreadPoolExecutor(50) as viewers:
        replies = list(viewers.map(lambda _: shared.over(promql, WINDOW), range(50)))

    assert {reply.series[0].values[0] for reply in replies} == {1.0}
    assert len(double.asked) == 1


def test_a_second_process_is_answered_from_the_shared_cache(double: ScriptedPrometheus, promql: str) -> None:
    first, second = Answers(double.url), Answers(double.url)

    first.over(promql, WINDOW)
    reply = second.over(promql, WINDOW)

    assert reply.series[0].values[0] == 1.0
    assert len(double.asked) == 1


@pytest.mark.usefixtures("no_cache")
def test_without_the_shared_cache_each_process_asks_once(double: ScriptedPrometheus, promql: str) -> None:
    first, second = Answers(double.url), Answers(double.url)

    replies = [one.over(promql, WINDOW) for one in (first, first, second, second)]

    assert {reply.series[0].values[0] for reply in replies} == {1.0}
    assert len(double.asked) == 2


def test_a_hung_cache_is_left_alone_after_the_first_wait(
    double: ScriptedPrometheus, promql: str, hung_cache: list[socket.socket]
) -> None:
    shared = Answers(double.url)

    replies = [shared.over(f"{promql} + {number}", WINDOW) for number in range(20)]

    assert len(replies) == len(double.asked) == 20
    assert 1 <= len(hung_cache) <= 2


def test_an_answer_is_asked_for_again_after_its_time(double: ScriptedPrometheus) -> None:
    now_s = int(time.time())
    window = Window(start_s=now_s - 60, end_s=now_s, step_s=1)
    shared, promql = Answers(double.url), f'up{{server="{uuid4()}"}}'

    shared.over(promql, window)
    time.sleep(2.1)
    shared.over(promql, window)

    assert len(double.asked) == 2


def test_while_prometheus_is_silent_only_the_first_questions_wait(double: ScriptedPrometheus) -> None:
    double.hangs()
    shared = Answers(double.url)
    with pytest.raises(PrometheusTimeout):
        shared.over("up", WINDOW)

    for number in range(20):
        with pytest.raises(PrometheusTimeout):
            shared.over(f"up + {number}", WINDOW)

    assert len(double.asked) == 1


def test_after_a_rest_prometheus_is_tried_again(promql: str) -> None:
    port = free_port()
    shared = Answers(f"http://127.0.0.1:{port}", rest_after_failure_s=0.2)
    with pytest.raises(PrometheusUnreachable):
        shared.over("up", WINDOW)

    with scripted_prometheus(port) as double:
        double.gives(({}, [(1_000, "1")]))
        time.sleep(0.3)
        reply = shared.over(promql, WINDOW)

    assert reply.series[0].values[0] == 1.0


def test_a_refused_query_does_not_stop_the_others(double: ScriptedPrometheus, promql: str) -> None:
    double.script.clear()
    double.says(400, {"status": "error", "errorType": "bad_data", "error": "no"})
    double.gives(({}, [(1_000, "1")]))
    shared = Answers(double.url)

    with pytest.raises(PrometheusRefusedQuery):
        shared.over(promql + " bad", WINDOW)

    assert shared.over(promql, WINDOW).series[0].values[0] == 1.0
