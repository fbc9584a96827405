"""A scripted Prometheus, and real ones: with a known past, and scraping a scripted exporter."""

import subprocess
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pytest_django import Settings

from demo.parts.ports import free_port
from demo.parts.prometheus import HttpDiscovery, Prometheus, find_program
from tests.apps.metrics.doubles import Exporter, ScriptedPrometheus, exporter, scripted_prometheus
from tests.apps.metrics.past import PAST
from tests.demo.home import shared_home


@pytest.fixture
def scripted(settings: Settings) -> Iterator[ScriptedPrometheus]:
    """A Prometheus that answers as told; charts are asked there."""
    with scripted_prometheus() as double:
        settings.CONCH = {**settings.CONCH, "prometheus_url": double.url, "scrape_interval_s": 15}
        yield double


@pytest.fixture(scope="session")
def past(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """A real Prometheus that knows what `past.py` writes down."""
    root = tmp_path_factory.mktemp("prometheus")
    samples = root / "past.txt"
    samples.write_text(PAST.text())
    packages = shared_home() / "packages"
    promtool = find_program("promtool", packages=packages)
    into = ["tsdb", "create-blocks-from", "openmetrics", str(samples), str(root / "series")]
    subprocess.run([promtool, *into], check=True, capture_output=True)
    part = Prometheus(root, port=free_port(), packages=packages)
    part.start()
    yield part
    part.stop()


@pytest.fixture
def known_past(past: Prometheus, settings: Settings) -> datetime:
    """Charts are asked of the Prometheus with the known past; its last moment."""
    settings.CONCH = {**settings.CONCH, "prometheus_url": past.url, "scrape_interval_s": 15}
    return datetime.fromtimestamp(PAST.end_s, tz=UTC)


@pytest.fixture
def scraped(tmp_path: Path, settings: Settings) -> Iterator[Exporter]:
    """An exporter that a real Prometheus finds by HTTP service discovery and scrapes every second."""
    with exporter(environment="prod", server="prod-1") as double:
        token = tmp_path / "token"
        token.write_text("any")
        part = Prometheus(
            tmp_path / "prometheus",
            port=free_port(),
            packages=shared_home() / "packages",
            discovery=HttpDiscovery(double.discovery_url, token, refresh_s=1),
            scrape_interval_s=1,
        )
        part.start()
        settings.CONCH = {**settings.CONCH, "prometheus_url": part.url, "scrape_interval_s": 1}
        yield double
        part.stop()


def wait_for_scrapes(double: Exporter, count: int) -> None:
    """Until it was scraped so many more times."""
    wanted, deadline = double.scrapes + count, time.monotonic() + 30
    while double.scrapes < wanted:
        assert time.monotonic() < deadline, "Prometheus did not scrape"
        time.sleep(0.05)
