"""The traffic source asks every server, and comes back after a server did."""

import json
import sys
import time
import urllib.request
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from demo.parts.process import Child
from demo.parts.triton import Triton
from demo.parts.triton_environment import prepare_triton
from demo.trained import prepare_digits
from tests.demo.home import shared_home

ENOUGH_REQUESTS = 40


@pytest.fixture
def triton(tmp_path: Path) -> Iterator[Triton]:
    environment = prepare_triton(shared_home())
    digits = prepare_digits(shared_home(), environment)
    with zipfile.ZipFile(digits.archive(2)) as packed:
        packed.extractall(tmp_path / "models")
    triton = Triton(tmp_path, environment=environment, repository=tmp_path / "models", load_models=None)
    triton.start()
    yield triton
    triton.stop()


@pytest.fixture
def traffic(tmp_path: Path, triton: Triton) -> Iterator[Child]:
    server = {"name": "one", "grpc": triton.grpc, "http": triton.http}
    held_out = str(shared_home() / "digits" / "held_out.json")
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"model": "digits", "held_out": held_out, "rate": 20, "servers": [server]}))
    child = Child("traffic", [sys.executable, "-m", "demo.traffic", plan], log=tmp_path / "traffic.log")
    child.start()
    yield child
    child.stop()


def answered(triton: Triton) -> int:
    """Requests of clients that this server has answered since it started."""
    try:
        with urllib.request.urlopen(f"http://{triton.http}/v2/models/digits/stats", timeout=5) as answer:
            stats = json.load(answer)["model_stats"][0]
    except OSError:
        return 0
    return int(stats["inference_stats"]["success"]["count"])


def wait_for_answers(triton: Triton, *, timeout_s: float = 30.0) -> bool:
    deadline = time.monotonic() + timeout_s
    while answered(triton) < ENOUGH_REQUESTS and time.monotonic() < deadline:
        time.sleep(0.2)
    return answered(triton) >= ENOUGH_REQUESTS


def test_traffic_goes_on_after_the_server_was_restarted(triton: Triton, traffic: Child) -> None:
    before = wait_for_answers(triton)
    triton.kill()
    triton.start()

    after = wait_for_answers(triton)

    assert before
    assert after
    assert traffic.is_running
