"""Each part starts, answers, stops, and leaves no process behind."""

import json
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
import pytest
import redis

from demo.parts.ports import free_port
from demo.parts.postgres import Postgres
from demo.parts.prometheus import Prometheus, find_program
from demo.parts.triton import SHARED_MEMORY, Triton
from demo.parts.valkey import Valkey
from tests.demo.home import shared_home
from tests.demo.parent import PARTS, make_triton
from tests.demo.processes import command_lines, wait_for_none


@pytest.fixture
def root() -> Iterator[Path]:
    """A folder with a short path: unix sockets allow 107 bytes."""
    with TemporaryDirectory(prefix="conch-part-") as folder:
        yield Path(folder)


@pytest.mark.parametrize("name", PARTS)
def test_a_part_starts_and_stops(name: str, root: Path) -> None:
    part = PARTS[name](root)

    part.start()
    running = command_lines(str(root))
    part.stop()

    assert running != []
    assert command_lines(str(root)) == []


@pytest.mark.parametrize("name", PARTS)
def test_a_killed_parent_leaves_no_part_behind(name: str, root: Path) -> None:
    words = [sys.executable, "-m", "tests.demo.parent", name, str(root)]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"started\n"
        parent.send_signal(signal.SIGKILL)

    assert wait_for_none(str(root), timeout_s=20) == []


def test_a_durable_valkey_keeps_its_queue_over_a_restart(root: Path) -> None:
    valkey = Valkey(root, port=free_port(), is_durable=True)
    valkey.start()
    redis.from_url(valkey.url).lpush("queue", "message")

    valkey.stop()
    valkey.start()

    assert redis.from_url(valkey.tcp_url).rpop("queue") == b"message"
    valkey.stop()


def test_postgres_keeps_its_rows_over_a_kill(root: Path) -> None:
    postgres = Postgres(root, port=free_port())
    postgres.start()
    with psycopg.connect(postgres.url) as connection:
        connection.execute("create table t as select 1 as one")

    postgres.kill()
    postgres.start()

    with psycopg.connect(postgres.url) as connection:
        assert connection.execute("select one from t").fetchall() == [(1,)]
    postgres.stop()


def test_prometheus_accepts_its_own_configuration(root: Path) -> None:
    prometheus = Prometheus(root, port=free_port(), packages=shared_home() / "packages", targets=["127.0.0.1:9"])
    prometheus.start()

    promtool = find_program("promtool", packages=shared_home() / "packages")
    checked = subprocess.run([promtool, "check", "config", prometheus.config], check=False)
    prometheus.stop()

    assert checked.returncode == 0


def ask(triton: Triton, path: str, body: object | None = None) -> dict[str, object]:
    request = urllib.request.Request(
        f"http://{triton.http}{path}", data=None if body is None else json.dumps(body).encode()
    )
    with urllib.request.urlopen(request, timeout=10) as answer:
        return dict(json.load(answer))


def test_triton_answers_floats_and_leaves_no_stub_after_a_kill(root: Path) -> None:
    triton = make_triton(root)
    triton.start()
    x = {"name": "x", "datatype": "FP32", "shape": [2], "data": [1.5, -2]}

    answer = ask(triton, "/v2/models/doubler/infer", {"inputs": [x]})
    stubs = [line for line in command_lines(str(root)) if "triton_python_backend_stub" in line]
    regions = len(list(SHARED_MEMORY.glob("conch_*")))
    triton.kill()

    assert answer["outputs"] == [{"name": "y", "datatype": "FP32", "shape": [2], "data": [3.0, -4.0]}]
    assert stubs != []
    assert regions > 0
    assert command_lines(str(root)) == []


def test_a_paused_triton_answers_again_after_resume(root: Path) -> None:
    triton = make_triton(root)
    triton.start()

    triton.pause()
    hung = triton.is_ready()
    triton.resume()
    triton.wait_ready(timeout_s=10)
    triton.stop()

    assert not hung


def test_a_restricted_triton_refuses_control_without_the_key(root: Path) -> None:
    made = make_triton(root)
    triton = Triton(root, environment=made._environment, repository=made.repository, restricted_key="key=secret")
    triton.start()

    with pytest.raises(urllib.error.HTTPError, match="403") as refused:
        ask(triton, "/v2/repository/index", {})
    reason = refused.value.read()
    refused.value.close()

    triton.stop()
    assert b"restricted" in reason


def test_a_restricted_triton_obeys_whoever_has_the_key(root: Path) -> None:
    made = make_triton(root)
    triton = Triton(root, environment=made._environment, repository=made.repository, restricted_key="key=secret")
    triton.start()
    request = urllib.request.Request(
        f"http://{triton.http}/v2/repository/models/doubler/load", data=b"{}", headers={"key": "secret"}
    )

    with urllib.request.urlopen(request, timeout=30) as answer:
        status = answer.status

    triton.stop()
    assert status == 200
