"""A real Prometheus finds a scripted exporter by service discovery and scrapes it every second."""

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from apps.fleet.models import Environment, ObservedVersion, Repository, Server
from apps.metrics import selectors
from apps.metrics.selectors import ChartAnswer
from tests.apps.metrics.conftest import wait_for_scrapes
from tests.apps.metrics.doubles import Exporter

pytestmark = [pytest.mark.live, pytest.mark.django_db]


def successes(*counts: tuple[int, float]) -> str:
    """The counter of each version."""
    lines = [f'nv_inference_request_success{{model="m",version="{version}"}} {count}' for version, count in counts]
    return "\n".join([*lines, "nv_cpu_utilization 0.5", ""])


def ask(key: str = "requests", **about: str) -> ChartAnswer:
    """A chart of now: the slot that just began, and nothing older."""
    return selectors.chart(key, server="prod-1", range_s=60, now=timezone.now() + timedelta(seconds=1), **about)


def values(answer: ChartAnswer, name: str) -> list[float | None]:
    assert answer.figure is not None, answer.message
    return next(trace["y"] for trace in answer.figure["data"] if trace["name"] == name)


def test_a_steady_counter_is_its_rate(scraped: Exporter) -> None:
    scraped.step = lambda number: successes((1, 10.0 * number))
    wait_for_scrapes(scraped, 5)

    answer = ask(model="m")

    assert answer.latest[0].name == "v1"
    assert answer.latest[0].value == pytest.approx(10, rel=0.1)


def test_the_first_value_of_a_new_version_is_no_traffic(scraped: Exporter) -> None:
    scraped.step = lambda number: successes((1, 3.0 * number), *(((2, 5.0),) if number >= 3 else ()))
    wait_for_scrapes(scraped, 7)

    answer = ask(model="m")

    assert [value for value in values(answer, "v2") if value is not None and value > 0] == []
    assert {latest.name: latest.is_current for latest in answer.latest} == {"v1": True, "v2": True}


def test_a_version_that_goes_ends_its_line_at_once(scraped: Exporter) -> None:
    scraped.step = lambda number: successes((2, 3.0 * number), *(((1, 4.0 * number),) if number < 5 else ()))
    wait_for_scrapes(scraped, 8)

    answer = ask(model="m")

    assert values(answer, "v1")[-1] is None
    assert values(answer, "v2")[-1] is not None


def test_a_server_that_fails_its_scrapes_is_named_and_its_lines_end(scraped: Exporter) -> None:
    scraped.text = successes((1, 5.0))
    wait_for_scrapes(scraped, 3)
    scraped.text = None
    wait_for_scrapes(scraped, 3)

    answer = ask("use")

    assert "prod-1 does not answer Prometheus's scrapes" in answer.message
    assert values(answer, "CPU")[-1] is None


def test_a_server_that_never_answered_says_so_instead_of_a_chart(scraped: Exporter) -> None:
    scraped.text = None
    wait_for_scrapes(scraped, 3)

    answer = ask(model="m")

    assert (answer.state, answer.message) == ("empty", "prod-1 does not answer Prometheus's scrapes")


@pytest.fixture
def ready() -> Callable[[int, datetime], None]:
    """Says that prod-1 has a version of `m` loaded since then."""
    environment = Environment.objects.create(name="prod")
    repository = Repository.objects.create(name="prod", environment=environment, path="/models")
    server = Server.objects.create(name="prod-1", environment=environment, repository=repository, grpc="127.0.0.1:1")

    def say(version: int, since: datetime) -> None:
        ObservedVersion.objects.create(server=server, model="m", version=version, state="READY", since=since)

    return say


def test_a_version_just_loaded_is_awaited(scraped: Exporter, ready: Callable[[int, datetime], None]) -> None:
    scraped.text = successes((5, 5.0))
    ready(5, timezone.now() - timedelta(minutes=5))
    wait_for_scrapes(scraped, 4)
    ready(6, timezone.now() + timedelta(seconds=1))

    answer = ask(model="m")

    assert answer.state == "ok"
    assert answer.message == "no series for v6 yet: first scrape in about 2 s"
