"""Addresses and labels as people write them."""

import pytest

from apps.fleet.errors import BadAddress
from apps.fleet.services.addresses import clean_endpoint, clean_labels, clean_metrics


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("triton-1:8001", "triton-1:8001"),
        (" Triton-1.Example:8001 ", "triton-1.example:8001"),
        ("grpc://10.0.0.1:8001", "10.0.0.1:8001"),
        ("http://10.0.0.1:8001/", "10.0.0.1:8001"),
        ("[::1]:8001", "[::1]:8001"),
        ("localhost:8001", "127.0.0.1:8001"),
        ("localhost.example:8001", "localhost.example:8001"),
    ],
)
def test_an_endpoint_is_kept_as_host_and_port(written: str, kept: str) -> None:
    assert clean_endpoint(written, field="grpc") == kept


@pytest.mark.parametrize(
    "written",
    [
        "",
        "triton",
        "triton:",
        ":8001",
        "triton:0",
        "triton:65536",
        "triton:port",
        "triton:8001/v2",
        "triton:8001?x=1",
        "user:secret@triton:8001",
        "ftp://triton:8001",
        "a b:8001",
        "triton\n:8001",
        "unix:/tmp/socket",
        "[::1:8001",
    ],
)
def test_what_is_no_endpoint_is_refused_and_the_field_named(written: str) -> None:
    with pytest.raises(BadAddress) as refused:
        clean_endpoint(written, field="grpc")

    assert refused.value.facts["field"] == "grpc"


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("triton:8002", "http://triton:8002/metrics"),
        ("http://triton:8002", "http://triton:8002/metrics"),
        ("https://triton:8002/my/metrics", "https://triton:8002/my/metrics"),
    ],
)
def test_a_metrics_address_is_kept_as_the_url_that_is_scraped(written: str, kept: str) -> None:
    assert clean_metrics(written) == kept


def test_a_metrics_path_with_odd_characters_is_refused() -> None:
    with pytest.raises(BadAddress):
        clean_metrics('http://triton:8002/a"b')


@pytest.mark.parametrize(
    "labels",
    [
        {"Upper": "x"},
        {"model": "x"},
        {"__name__": "x"},
        {"a-b": "x"},
        {"a": "x" * 201},
        {"a": "x\ny"},
        {"a": 1},
        {f"l{n}": "x" for n in range(31)},
    ],
)
def test_labels_prometheus_does_not_take_or_that_are_taken_are_refused(labels: dict[str, str]) -> None:
    with pytest.raises(BadAddress):
        clean_labels(labels)


def test_good_labels_stay_as_they_are() -> None:
    assert clean_labels({"gpu": "A100", "mig_profile": "1g.5gb"}) == {"gpu": "A100", "mig_profile": "1g.5gb"}
