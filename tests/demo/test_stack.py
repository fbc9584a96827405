"""The whole stack: starts, tells scripts where it is, looks after itself, leaves nothing behind."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from demo.home import REPOSITORY
from demo.parts.ports import free_port
from tests.demo.home import shared_home
from tests.demo.processes import command_lines, process_ids, wait_for_none
from tests.fixtures.waiting import eventually

pytestmark = pytest.mark.live
START_TIMEOUT_S = 300
DEMO = [sys.executable, "-m", "demo"]


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A state folder with a short path: unix sockets allow 107 bytes."""
    with TemporaryDirectory(prefix="conch-stack-") as name:
        yield Path(name)


@contextlib.contextmanager
def running(folder: Path, command: list[str], described_in: str) -> Iterator[dict[str, Any]]:
    """Start it, give what it says of itself once it does, stop it."""
    not_ours = {"CONCH_DATABASE_URL", "CONCH_BROKER_URL", "CONCH_SECRET_KEY", "DJANGO_SETTINGS_MODULE"}
    variables = {key: value for key, value in os.environ.items() if key not in not_ours}
    variables |= {"CONCH_HOME": str(folder), "CONCH_TRITON_ENV": str(shared_home() / "triton-env")}
    variables["PORT"] = str(free_port())
    (folder / described_in).unlink(missing_ok=True)
    # Not a Child: its guardian would tidy up, and what is tested here is that nobody needs to.
    with (folder / "stack.log").open("ab") as log:
        stack = subprocess.Popen(command, env=variables, cwd=REPOSITORY, stdout=log, stderr=log)
    try:
        assert eventually(
            lambda: (folder / described_in).exists() or stack.poll() is not None, timeout_s=START_TIMEOUT_S
        )
        assert stack.poll() is None, (folder / "stack.log").read_text()
        yield json.loads((folder / described_in).read_text())
    finally:
        stack.terminate()
        stack.wait(60)


@pytest.fixture(scope="module")
def demo(folder: Path) -> Iterator[dict[str, Any]]:
    """What a running demo says of itself."""
    with running(folder, DEMO, "demo.json") as described:
        yield described


def get(url: str, *, token: str = "") -> Any:
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"} if token else {})
    with urllib.request.urlopen(request, timeout=20) as answer:
        return json.load(answer)


def served_rates(demo: dict[str, Any]) -> dict[str, float]:
    """Requests a second of the last 10 s, by server, as Prometheus has them."""
    query = urllib.parse.quote("sum by (server) (rate(nv_inference_request_success{model='digits'}[10s])) > 1")
    found = get(f"{demo['prometheus']}/api/v1/query?query={query}")["data"]["result"]
    return {each["metric"]["server"]: float(each["value"][1]) for each in found}


def test_traffic_reaches_every_server_and_prometheus_sees_it(demo: dict[str, Any]) -> None:
    names = {server["name"] for server in demo["servers"]}

    assert names == {"staging-1", "prod-1", "prod-2"}
    assert eventually(lambda: set(served_rates(demo)) == names)


def test_the_demo_has_one_version_in_prod_and_a_better_one_in_staging(demo: dict[str, Any]) -> None:
    placements = get(f"{demo['url']}/api/v1/placements?model=digits", token=demo["api_token"])["results"]
    versions = get(f"{demo['url']}/api/v1/models/digits/versions", token=demo["api_token"])["results"]

    assert {each["environment"]: each["active"] for each in placements} == {"staging": 2, "prod": 1}
    assert {each["number"]: each["state"] for each in versions if each["number"] < 6} == dict.fromkeys(
        range(1, 6), "ready"
    )


def test_the_demo_shows_an_overlay_and_a_version_by_reference_with_a_finding(demo: dict[str, Any]) -> None:
    def ask(path: str) -> Any:
        return get(f"{demo['url']}/api/v1/{path}", token=demo["api_token"])

    assert eventually(lambda: ask("models/digits/versions/6")["state"] == "ready")
    assert eventually(lambda: ask("placements/staging/digits/overlay")["current"] is not None)

    report = ask("models/digits/versions/6/report?environment=prod")
    assert ask("models/digits/versions/6")["source"].endswith("/digits-6.zip")
    assert "warmup-empty" in {finding["rule"] for finding in report["findings"]}


def test_the_demo_shows_a_release_of_a_model_with_the_ensemble_on_top(demo: dict[str, Any]) -> None:
    (release,) = get(f"{demo['url']}/api/v1/releases", token=demo["api_token"])["results"]

    assert (release["state"], release["environment"]) == ("succeeded", "staging")
    assert {one["model"]: one["to_version"] for one in release["rollouts"]} == {"digits": 2, "digit-reader": 1}


def test_what_scripts_are_told_is_for_its_owner_only(demo: dict[str, Any], folder: Path) -> None:
    files = [folder / "demo.json", *(folder / "secrets").iterdir()]

    assert demo["username"]
    assert len(files) == 5
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}


@pytest.mark.parametrize(
    "word",
    ["celery -A controlplane", "gunicorn controlplane.wsgi", "demo.traffic", "valkey-server", "prometheus --config"],
)
def test_a_killed_process_is_started_again(demo: dict[str, Any], folder: Path, word: str) -> None:
    before = process_ids(word, home=folder)

    os.kill(before[0], signal.SIGKILL)

    assert eventually(lambda: bool(process_ids(word, home=folder)) and before[0] not in process_ids(word, home=folder))
    assert eventually(lambda: len(served_rates(demo)) == 3)
    assert eventually(lambda: bool(get(f"{demo['url']}/api/v1/servers", token=demo["api_token"])["results"]))


def test_a_killed_triton_comes_back_with_what_it_served(demo: dict[str, Any], folder: Path) -> None:
    server = next(each for each in demo["servers"] if each["name"] == "staging-1")
    stats = f"http://{server['http']}/v2/models/digits/versions/2/stats"
    word = f"--http-port={server['http'].split(':')[1]}"
    before = process_ids(word, home=folder)

    os.kill(before[0], signal.SIGKILL)

    assert eventually(lambda: process_ids(word, home=folder) not in ([], before))
    assert eventually(lambda: get(stats)["model_stats"][0]["inference_stats"]["success"]["count"] > 20)


def test_a_killed_demo_leaves_nothing_and_starts_again_where_it_was(demo: dict[str, Any], folder: Path) -> None:
    os.kill(process_ids("-m demo ", home=folder)[0], signal.SIGKILL)
    left = wait_for_none(f"{folder}/", timeout_s=30)

    with running(folder, DEMO, "demo.json") as described:
        placements = get(f"{described['url']}/api/v1/placements?model=digits", token=demo["api_token"])["results"]

    assert left == []
    assert described["servers"] == demo["servers"]
    assert described["password"] == demo["password"]
    assert {each["environment"]: each["active"] for each in placements} == {"staging": 2, "prod": 1}
    assert command_lines(f"{folder}/") == []


def test_killing_make_ends_the_bare_stack() -> None:
    make = ["make", "run", f"PYTHON={sys.executable}"]
    with TemporaryDirectory(prefix="conch-bare-") as name, running(Path(name), make, "run.json") as described:
        folder = Path(name)
        health = get(f"{described['url']}/api/v1/health", token=described["api_token"])

        os.kill(process_ids("make run", home=folder)[0], signal.SIGKILL)

        assert described["servers"] == []
        assert "parts" in health
        assert wait_for_none(f"{folder}/", timeout_s=30) == []
