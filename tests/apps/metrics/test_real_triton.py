"""Every chart of a real Triton under a little traffic, good and bad, as a real Prometheus scraped it."""

import itertools
import statistics
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from django.utils import timezone
from pytest_django import Settings

from apps.metrics import selectors
from apps.metrics.catalogue import CHARTS
from apps.metrics.selectors import ChartAnswer
from apps.serving.backends.triton import connect
from apps.serving.errors import InferenceFailed
from apps.serving.protocol import Address, ServingBackend, Tensor
from demo.parts.ports import free_port
from demo.parts.prometheus import HttpDiscovery, Prometheus
from demo.parts.triton import Triton
from tests.apps.metrics.doubles import exporters
from tests.demo.home import shared_home
from tests.factories.triton_models import python_model
from tests.fixtures.tritons import StartTriton

pytestmark = [pytest.mark.live, pytest.mark.django_db]
SECONDS = 12
LINES = {
    "requests": {"v1"},
    "latency": {"v1 p50", "v1 p95", "v1 p99"},
    "errors": {"v1 backend"},
    "error_ratio": {"v1"},
    "queue_compute": {"v1 queue", "v1 compute"},
    "compute": {"v1 infer", "v1 input", "v1 output"},
    "batch_size": {"v1"},
    "batch_efficiency": {"v1"},
    "pending": {"v1"},
    "use": {"CPU"},
    "memory": {"CPU", "CPU total"},
    "pinned": {"used", "pool"},
}
FAIL_ON_NEGATIVE = "if x.min() < 0: raise ValueError('negative')"


@pytest.fixture(scope="module")
def triton(start_triton: StartTriton, tmp_path_factory: pytest.TempPathFactory) -> Triton:
    repository = tmp_path_factory.mktemp("charts") / "models"
    python_model(repository, "m", 1, execute=FAIL_ON_NEGATIVE, config=True)
    return start_triton("prod-1", repository=repository, load_models=["m"])


@pytest.fixture(scope="module")
def prometheus(triton: Triton, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """It has scraped that Triton every second while it was asked 20 times a second."""

    def scrape(_: int) -> str:
        with urllib.request.urlopen(f"http://{triton.metrics}/metrics", timeout=5) as answer:
            text: str = answer.read().decode()
        return text

    root = tmp_path_factory.mktemp("prometheus")
    (root / "token").write_text("any")
    with exporters({"prod-1": scrape}) as double:
        discovery = HttpDiscovery(double.discovery_url, root / "token", refresh_s=1)
        packages = shared_home() / "packages"
        part = Prometheus(root, port=free_port(), packages=packages, discovery=discovery, scrape_interval_s=1)
        part.start()
        with traffic(triton):
            time.sleep(SECONDS)
            yield part
        part.stop()


@contextmanager
def traffic(triton: Triton) -> Iterator[None]:
    """Nine good requests and a bad one, over and over, until the block ends."""
    is_over = threading.Event()

    def ask() -> None:
        backend = connect(Address(name=triton.name, grpc=triton.grpc, http=triton.http), 5)
        for number in itertools.count():
            if is_over.wait(0.05):
                return backend.close()
            send(backend, sign=-1 if number % 10 == 0 else 1)
        return None

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def send(backend: ServingBackend, *, sign: int) -> None:
    try:
        backend.infer("m", None, [Tensor("x", "FP32", sign * np.ones((1, 4), np.float32))])
    except InferenceFailed:
        assert sign < 0


@pytest.fixture(autouse=True)
def here(prometheus: Prometheus, settings: Settings) -> None:
    settings.CONCH = {**settings.CONCH, "prometheus_url": prometheus.url, "scrape_interval_s": 1}


MISSING = {
    "first_response": "no histogram: --metrics-config histogram_latencies=true",
    "cache": "no response cache: start Triton with --cache-config",
    "cache_lookups": "no response cache: start Triton with --cache-config",
    "cache_time": "no response cache: start Triton with --cache-config",
    "load_duration": "no load times: Triton 2.51 does not give them",
    "power": "no GPU metrics: no GPU here",
}


def ask(key: str) -> ChartAnswer:
    return selectors.chart(key, server="prod-1", model="m", range_s=60, now=timezone.now())


def chart(key: str) -> ChartAnswer:
    answer = ask(key)
    assert answer.state == "ok", answer.message
    return answer


def last(key: str) -> dict[str, float]:
    """The chart's lines and their last values."""
    return {latest.name: latest.value for latest in chart(key).latest}


def test_every_chart_of_servers_is_held_against_a_real_triton() -> None:
    assert {*LINES, *MISSING} == {key for key, chart in CHARTS.items() if not chart.is_of_devices}


@pytest.mark.parametrize("key", MISSING)
def test_what_this_triton_does_not_give_is_missing_with_its_reason(key: str) -> None:
    answer = ask(key)

    assert (answer.state, answer.figure) == ("empty", None)
    assert answer.message.startswith(MISSING[key])


@pytest.mark.parametrize("key", LINES)
def test_a_chart_of_a_real_triton_has_its_lines(key: str) -> None:
    assert set(last(key)) == LINES[key]


def test_exceptions_are_a_tenth_of_all_requests() -> None:
    figure = chart("error_ratio").figure
    assert figure is not None

    ratios = [value for value in figure["data"][0]["y"] if value is not None]

    assert statistics.mean(ratios) == pytest.approx(10, abs=5)


def test_percentiles_are_in_their_order() -> None:
    found = last("latency")

    assert 0 < found["v1 p50"] <= found["v1 p95"] <= found["v1 p99"]
