"""How long rounds of observing took, read from a worker's log."""

import os
import time

import pytest

from bench.rounds import cpu_s, rounds_s, shards

LOG = """\
2026-11-30 20:00:00,000 INFO celery.worker.strategy: Task conch.observe_fleet[a1] received
2026-11-30 20:00:01,000 INFO celery.app.trace: Task conch.observe_servers[b1] succeeded in 0.9s: None
2026-11-30 20:00:10,000 INFO celery.worker.strategy: Task conch.observe_fleet[a2] received
2026-11-30 20:00:10,500 INFO celery.worker.strategy: Task conch.sweep[c1] received
2026-11-30 20:00:11,000 INFO celery.app.trace: Task conch.observe_servers[b2] succeeded in 0.9s: None
2026-11-30 20:00:12,250 INFO celery.app.trace: Task conch.observe_servers[b3] succeeded in 1.9s: None
2026-11-30 20:00:20,000 INFO celery.worker.strategy: Task conch.observe_fleet[a3] received
2026-11-30 20:00:20,100 INFO celery.app.trace: Task conch.observe_servers[b4] succeeded in 0.1s: None
"""


def test_a_round_ends_with_its_last_shard_and_those_at_the_edges_are_left_out() -> None:
    assert rounds_s(LOG) == [2.25]


def test_a_log_without_a_whole_round_has_none() -> None:
    assert rounds_s(LOG.splitlines()[0]) == []


def test_shards_count_once_they_are_done() -> None:
    assert shards(LOG) == 4


def test_cpu_time_of_a_process_is_its_own() -> None:
    before = cpu_s(os.getpid())
    until = time.process_time() + 0.2
    while time.process_time() < until:
        pass

    assert cpu_s(os.getpid()) - before == pytest.approx(0.2, abs=0.1)
