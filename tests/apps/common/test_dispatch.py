"""Waking workers: on commit alone, and without waiting for a broker that hangs."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis
from celery import Celery, current_app
from django.db import transaction

from apps.common import dispatch
from apps.common.dispatch import wake
from demo.parts.ports import free_port
from demo.parts.valkey import Valkey


class SilentBroker:
    """Takes connections, never answers, and counts."""

    def __init__(self) -> None:
        self.connections: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"redis://127.0.0.1:{self._listener.getsockname()[1]}/0"
        threading.Thread(target=self._take, daemon=True).start()

    def _take(self) -> None:
        while True:
            try:
                self.connections.append(self._listener.accept()[0])
            except OSError:
                return

    def close(self) -> None:
        """Let go of everybody."""
        self._listener.close()
        for each in self.connections:
            each.close()


@contextmanager
def sending_to(broker_url: str, **options: object) -> Iterator[Celery]:
    """Celery's current app, for as long, is one with that broker."""
    # The app that its proxy stands for now; the type checker does not see through the proxy.
    before = current_app._get_current_object()  # type: ignore[attr-defined]
    app = Celery("waking", broker=broker_url)
    app.conf.broker_transport_options = options
    try:
        yield app
    finally:
        app.close()
        before.set_current()


@pytest.fixture
def silent_broker() -> Iterator[SilentBroker]:
    broker = SilentBroker()
    with sending_to(broker.url, socket_timeout=0.2, max_retries=1, interval_start=0):
        yield broker
    broker.close()
    dispatch._Broker.next_attempt_s = 0.0


@pytest.fixture
def valkey(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Valkey]:
    """A real broker of its own."""
    # An earlier test may have met one that was down.
    monkeypatch.setattr(dispatch._Broker, "next_attempt_s", 0.0)
    broker = Valkey(tmp_path / "valkey", port=free_port())
    broker.start()
    broker.wait_ready()
    yield broker
    broker.stop()


@pytest.fixture
def waiting(valkey: Valkey) -> Iterator[Callable[[], int]]:
    """How many messages wait for a worker in it."""
    client = redis.Redis.from_url(valkey.url)
    with sending_to(valkey.broker_url):
        yield lambda: int(client.llen("celery"))
    client.close()


class RequestFailedError(Exception):
    """Something later in the request went wrong."""


@transaction.atomic
def _fail_after_waking() -> None:
    wake("conch.advance_run", run_id=1)
    raise RequestFailedError


@pytest.mark.django_db(transaction=True)
def test_a_worker_is_woken_on_commit_and_not_before(waiting: Callable[[], int]) -> None:
    with transaction.atomic():
        wake("conch.advance_run", run_id=1)
        within = waiting()

    assert (within, waiting()) == (0, 1)


@pytest.mark.django_db(transaction=True)
def test_a_request_that_is_rolled_back_wakes_nobody(waiting: Callable[[], int]) -> None:
    with pytest.raises(RequestFailedError):
        _fail_after_waking()

    assert waiting() == 0


@pytest.mark.django_db(transaction=True)
def test_a_broker_that_hangs_is_waited_for_once_not_once_per_message(silent_broker: SilentBroker) -> None:
    wake("conch.advance_run", run_id=1)
    after_the_first = len(silent_broker.connections)

    for run_id in range(2, 20):
        wake("conch.advance_run", run_id=run_id)

    assert after_the_first > 0
    assert len(silent_broker.connections) == after_the_first


@pytest.mark.live
@pytest.mark.django_db(transaction=True)
def test_what_may_stay_behind_is_handed_out_after_everything_else(valkey: Valkey) -> None:
    with sending_to(valkey.broker_url) as app:
        wake("conch.advance_run", is_behind=True, run_id=1)
        wake("conch.advance_run", is_behind=True, run_id=2)
        wake("conch.advance_rollout", rollout_id=3)
        with app.connection_for_read() as connection, connection.SimpleQueue("celery") as queue:
            taken = [queue.get(timeout=5).headers["task"] for _ in range(3)]

    assert taken == ["conch.advance_rollout", "conch.advance_run", "conch.advance_run"]
