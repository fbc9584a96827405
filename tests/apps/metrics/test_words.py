"""What charts say."""

from datetime import UTC, datetime, timedelta

import pytest

from apps.metrics import words
from apps.metrics.catalogue import CHARTS
from apps.metrics.words import Loaded
from apps.serving.signals import Selection

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("age_s", "said"),
    [
        (25, "no series for v6 yet: first scrape in about 5 s"),
        (45, "no series for v6 yet: first scrape in about 1 s"),
        (200, "no series for v6: loaded 3 min ago, and Prometheus has not seen it"),
        (7_300, "no series for v6: loaded 2 h ago, and Prometheus has not seen it"),
    ],
)
def test_a_loaded_version_without_series_is_awaited_and_then_missed(age_s: int, said: str) -> None:
    loaded = [Loaded("6", NOW - timedelta(seconds=age_s)), Loaded("5", NOW)]

    assert words.awaited(loaded, {"5"}, now=NOW, scrape_interval_s=15) == [said]


def test_the_first_server_that_loaded_it_counts() -> None:
    loaded = [Loaded("6", NOW - timedelta(seconds=2)), Loaded("6", NOW - timedelta(seconds=20))]

    found = words.awaited(loaded, set(), now=NOW, scrape_interval_s=15)

    assert found == ["no series for v6 yet: first scrape in about 10 s"]


@pytest.mark.parametrize(
    ("selection", "said"),
    [
        (Selection(server="prod-1"), "Prometheus does not scrape prod-1 yet"),
        (Selection(environment="prod"), "Prometheus scrapes no server of prod yet"),
        (Selection(), "Prometheus scrapes no server yet"),
    ],
)
def test_servers_that_are_not_scraped_are_named(selection: Selection, said: str) -> None:
    assert words.nothing(CHARTS["requests"], selection, {}, has_series=False).startswith(said)


@pytest.mark.parametrize(
    ("servers", "said"),
    [
        ({"a": True, "b": False}, "b does not answer Prometheus's scrapes"),
        ({"a": False, "b": False}, "a, b do not answer Prometheus's scrapes"),
        (dict.fromkeys("abcde", False), "a, b, c and 2 more do not answer Prometheus's scrapes"),
        ({"a": True}, ""),
    ],
)
def test_servers_that_are_down_are_counted(servers: dict[str, bool], said: str) -> None:
    assert words.down(servers) == said


def test_all_servers_down_is_not_the_same_as_no_requests() -> None:
    said = words.nothing(CHARTS["errors"], Selection(model="m"), {"a": False}, has_series=False)

    assert said == "a does not answer Prometheus's scrapes"
