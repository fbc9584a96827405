"""Memory in the course of rollouts, on a simulated card: the only kind there is here."""

import socket
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.utils import timezone

from apps.common.actor import COMMAND
from apps.deployments import selectors, services
from apps.deployments.models import MemoryReading
from apps.fleet import connecting
from apps.fleet import selectors as fleet
from apps.fleet.models import Observation, Server
from apps.fleet.repositories import open_home
from tests.factories.memory import reading
from tests.fixtures.world import World
from tests.worker.cards import EACH, MIB, at_rest, kept, promote, upload
from worker import clock, memory
from worker.context import Context
from worker.outcomes import Outcome
from worker.steps import STEPS, _memory


def test_what_loads_and_unloads_took_is_kept_once_the_server_has_come_to_rest(
    make_carded: Callable[..., World],
) -> None:
    world = make_carded(9, policy={"standby_window_s": 30})

    promote(world)
    promote(world)
    services.retire_standby(selectors.get_placement("prod", "heavy"))
    retiring = selectors.rollouts(active=True).get()
    world.walk(retiring.pk)
    at_rest()

    assert kept() == [("load", 1, EACH), ("load", 2, EACH), ("unload", 1, -EACH)]
    assert {one.bytes_each for one in selectors.expectations("heavy", {1, 2}).values()} == {EACH}
    assert selectors.server_memory(fleet.get_server("prod-1")).leaks == ()


def test_the_sweep_wakes_a_reading_that_is_due_and_it_ends_once(
    make_carded: Callable[..., World],
) -> None:
    world = make_carded(9)
    world.promote(upload(world))
    open_reading = MemoryReading.objects.get()
    (due,) = [find for task, _, find in clock.DUE if task == "conch.measure_memory"]

    early, late = list(due(timezone.now())), list(due(timezone.now() + timedelta(seconds=7)))
    memory.measure(open_reading.pk, now=timezone.now())
    memory.measure(open_reading.pk, now=timezone.now())

    assert (early, late) == ([], [open_reading.pk])
    assert kept() == [("load", 1, EACH)]


def test_a_load_that_does_not_fit_beside_the_standby_is_refused_before_the_server_is_touched(
    make_carded: Callable[..., World],
) -> None:
    world = make_carded(2.5)
    promote(world)
    promote(world)
    third = upload(world)
    reading(Server.objects.get(), "heavy", third, before=MIB, after=MIB + EACH)

    ended = world.promote(third)

    (run,) = ended.runs.filter(direction="forward")
    assert (ended.state, run.error["code"]) == ("rolled_back", "memory_short"), world.told(ended.pk)
    assert "heavy 3 takes about 300.0 MiB of gpu memory, 150.0 MiB are free" in run.error["message"]
    assert "beside version 2 and the standby 1" in run.error["message"]
    assert run.has_changed_server is False
    assert world.ready("prod-1") == {1, 2}


def test_the_standby_goes_first_where_the_policy_lets_it(make_carded: Callable[..., World]) -> None:
    world = make_carded(3.2, policy={"drop_standby": True})
    promote(world)
    promote(world)
    third = upload(world)
    reading(Server.objects.get(), "heavy", third, before=MIB, after=MIB + int(1.5 * EACH))

    ended = world.promote(third)

    (run,) = ended.runs.filter(direction="forward")
    steps = list(run.steps.order_by("started_at").values_list("name", flat=True))
    assert ended.state == "succeeded", world.told(ended.pk)
    assert steps[:3] == ["make_room", "preflight", "publish"]
    assert run.steps.get(name="make_room").detail == {"dropped": 1}
    assert run.steps.get(name="preflight").detail["is_tight"] is True
    assert world.ready("prod-1") == {2, 3}


def after_rolling_back(world: World) -> None:
    """A hot rollback on a server that tells its memory before the switch is sent, and its rest."""
    whole = STEPS["expose"]

    def told_in_time(context: Context) -> Outcome:
        _memory.look_aside(context)
        assert context.glance is not None
        context.glance.by_now(wait_s=9)
        return whole(context)

    STEPS["expose"] = told_in_time
    try:
        world.roll_back()
    finally:
        STEPS["expose"] = whole
    at_rest()


def test_a_hot_rollback_is_measured_where_the_server_tells_in_time(make_carded: Callable[..., World]) -> None:
    world = make_carded(9)
    promote(world)
    promote(world)

    after_rolling_back(world)

    assert kept() == [("load", 1, EACH), ("load", 2, EACH), ("unload", 2, -EACH)]
    assert selectors.server_memory(fleet.get_server("prod-1")).leaks == ()


def test_nobody_waits_for_a_server_whose_metrics_hang(make_carded: Callable[..., World]) -> None:
    world = make_carded(9)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        server = fleet.get_server("prod-1")
        server.metrics = f"http://127.0.0.1:{silent.getsockname()[1]}/metrics"
        glance = memory.Glance(server, connecting.connect(server), open_home(server.repository))

        began = time.monotonic()
        told = glance.by_now()

        assert told is None
        assert time.monotonic() - began < 0.5
    assert world.ready("prod-1") == set()


def test_without_a_repository_what_serves_is_known_all_the_same(make_carded: Callable[..., World]) -> None:
    world = make_carded(9, home={"kind": "inline"})

    promote(world)
    promote(world)
    world.walk(services.unload(COMMAND, environment="prod", model="heavy", reason="over").pk)
    at_rest()

    assert kept() == [("load", 1, EACH), ("load", 2, EACH), ("mixed", 0, -2 * EACH)]


def test_a_server_that_tells_no_memory_holds_up_nothing(make_carded: Callable[..., World]) -> None:
    world = make_carded(1)
    Server.objects.update(metrics="http://127.0.0.1:1/metrics")
    first = promote(world)
    second = upload(world)
    reading(Server.objects.get(), "heavy", second, before=MIB, after=MIB + EACH)

    ended = world.promote(second)

    (run,) = ended.runs.filter(direction="forward")
    assert (first.state, ended.state) == ("succeeded", "succeeded"), world.told(ended.pk)
    assert run.steps.get(name="preflight").detail["memory"].startswith("unknown")
    assert len(kept()) == 1


def test_memory_that_does_not_come_back_is_a_leak_until_the_restart(make_carded: Callable[..., World]) -> None:
    world = make_carded(9)
    promote(world)
    simulated: Any = world.tritons["prod-1"]
    simulated.disturb(leaks=True)

    unloading = services.unload(COMMAND, environment="prod", model="heavy", reason="not needed")
    world.walk(unloading.pk)
    at_rest()
    leaking = selectors.server_memory(fleet.get_server("prod-1")).leaks
    Observation.objects.update(restarted_at=timezone.now() + timedelta(minutes=1))

    assert [(one.model, one.version, one.missing_bytes) for one in leaking] == [("heavy", 1, EACH)]
    assert selectors.server_memory(fleet.get_server("prod-1")).leaks == ()


def test_a_reading_of_a_server_whose_key_cannot_be_opened_any_more_is_given_up(
    make_carded: Callable[..., World],
) -> None:
    make_carded(9)
    server = fleet.get_server("prod-1")
    services.begin_reading(server, devices=(), loaded=(), now=timezone.now())
    Server.objects.filter(pk=server.pk).update(sealed_control_value="sealed under another secret")

    at_rest()

    (given_up,) = MemoryReading.objects.all()
    assert given_up.ended_at is not None
    assert given_up.remark == "prod-1: its control key cannot be opened"
