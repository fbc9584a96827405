"""A real Prometheus finds scripted servers by service discovery and scrapes them every second, nine times."""

import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta

import pytest
from django.utils import timezone
from pytest_django import Settings

from apps.fleet.models import Environment, ObservedVersion, Repository, Server
from apps.metrics import selectors
from apps.metrics.selectors import ChartAnswer
from demo.parts.ports import free_port
from demo.parts.prometheus import HttpDiscovery, Prometheus
from tests.apps.metrics.doubles import exporters
from tests.demo.home import shared_home

pytestmark = [pytest.mark.live, pytest.mark.django_db]
SCRAPES = 9
CHANGE_AT = 5


def successes(*counts: tuple[int, float]) -> str:
    """The counter of each version."""
    lines = [f'nv_inference_request_success{{model="m",version="{version}"}} {count}' for version, count in counts]
    return "\n".join([*lines, "nv_cpu_utilization 0.5", ""])


SERVERS = {
    "steady": lambda number: successes((1, 10.0 * number)),
    "coming": lambda number: successes((1, 3.0 * number), *(((2, 5.0),) if number >= CHANGE_AT else ())),
    "going": lambda number: successes((2, 3.0 * number), *(((1, 4.0 * number),) if number < CHANGE_AT else ())),
    "dying": lambda number: successes((1, 5.0)) if number < CHANGE_AT else None,
    "dead": lambda _: None,
}


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """One that has scraped all of them."""
    root = tmp_path_factory.mktemp("prometheus")
    (root / "token").write_text("any")
    with exporters(SERVERS) as double:
        part = Prometheus(
            root,
            port=free_port(),
            packages=shared_home() / "packages",
            discovery=HttpDiscovery(double.discovery_url, root / "token", refresh_s=1),
            scrape_interval_s=1,
        )
        part.start()
        deadline = time.monotonic() + 60
        while min(double.scrapes[name] for name in SERVERS) < SCRAPES:
            assert time.monotonic() < deadline, "Prometheus did not scrape"
            time.sleep(0.1)
        yield part
        part.stop()


@pytest.fixture(autouse=True)
def here(prometheus: Prometheus, settings: Settings) -> None:
    settings.CONCH = {**settings.CONCH, "prometheus_url": prometheus.url, "scrape_interval_s": 1}


def ask(server: str, key: str = "requests", *, model: str = "") -> ChartAnswer:
    """A chart up to the second that just began, and nothing older."""
    now = timezone.now() + timedelta(seconds=1)
    return selectors.chart(key, server=server, range_s=60, now=now, model=model)


def values(answer: ChartAnswer, name: str) -> Sequence[float | None]:
    assert answer.figure is not None, answer.message
    found: dict[str, list[float | None]] = {trace["name"]: trace["y"] for trace in answer.figure["data"]}
    return found[name]


def test_a_steady_counter_is_its_rate() -> None:
    answer = ask("steady", model="m")

    # Not the last: a scrape that is still to come makes it less.
    assert values(answer, "v1")[-4] == pytest.approx(10, rel=0.1)


def test_the_first_value_of_a_new_version_is_no_traffic() -> None:
    answer = ask("coming", model="m")

    assert [value for value in values(answer, "v2") if value] == []
    assert {latest.name: latest.is_current for latest in answer.latest} == {"v1": True, "v2": True}


def test_a_version_that_goes_ends_its_line_at_once() -> None:
    answer = ask("going", model="m")

    assert values(answer, "v1")[-1] is None
    assert values(answer, "v2")[-1] is not None


def test_a_server_that_fails_its_scrapes_is_named_and_its_lines_end() -> None:
    answer = ask("dying", "use")

    assert "dying does not answer Prometheus's scrapes" in answer.message
    assert values(answer, "CPU")[-1] is None


def test_a_server_that_never_answered_says_so_instead_of_a_chart() -> None:
    answer = ask("dead", model="m")

    assert (answer.state, answer.message) == ("empty", "dead does not answer Prometheus's scrapes")


@pytest.fixture
def ready() -> Callable[[int, datetime], None]:
    """Says that the steady server has a version of `m` loaded since then."""
    environment = Environment.objects.create(name="prod")
    repository = Repository.objects.create(name="prod", environment=environment, path="/models")
    server = Server.objects.create(name="steady", environment=environment, repository=repository, grpc="127.0.0.1:1")

    def say(version: int, since: datetime) -> None:
        ObservedVersion.objects.create(server=server, model="m", version=version, state="READY", since=since)

    return say


def test_a_version_just_loaded_is_awaited(ready: Callable[[int, datetime], None]) -> None:
    ready(1, timezone.now() - timedelta(minutes=5))
    ready(6, timezone.now() + timedelta(seconds=1))

    answer = ask("steady", model="m")

    assert answer.state == "ok"
    assert answer.message == "no series for v6 yet: first scrape in about 2 s"
