"""Waking workers while the broker hangs."""

import socket
import threading
from collections.abc import Iterator

import pytest
from celery import Celery, current_app

from apps.common.dispatch import wake


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


@pytest.fixture
def silent_broker() -> Iterator[SilentBroker]:
    before, broker = current_app._get_current_object(), SilentBroker()  # type: ignore[attr-defined]
    app = Celery("silent", broker=broker.url)
    app.conf.broker_transport_options = {"socket_timeout": 0.2, "max_retries": 1, "interval_start": 0}
    yield broker
    app.close()
    before.set_current()
    broker.close()


@pytest.mark.django_db(transaction=True)
def test_a_broker_that_hangs_is_waited_for_once_not_once_per_message(silent_broker: SilentBroker) -> None:
    wake("conch.advance_run", run_id=1)
    after_the_first = len(silent_broker.connections)

    for run_id in range(2, 20):
        wake("conch.advance_run", run_id=run_id)

    assert after_the_first > 0
    assert len(silent_broker.connections) == after_the_first
