"""A scripted Prometheus, and a real one with a known past."""

import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from pytest_django import Settings

from demo.parts.ports import free_port
from demo.parts.prometheus import Prometheus, find_program
from tests.apps.metrics.doubles import ScriptedPrometheus, scripted_prometheus
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
