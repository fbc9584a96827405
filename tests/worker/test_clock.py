"""What happens because time passes: warm-ups, tidying, and the health of Conch's own parts."""

import os
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import cast

import pytest
from django.db import connection, transaction
from django.utils import timezone
from pytest_django import Settings

from apps.common.actor import COMMAND
from apps.deployments import selectors, services
from apps.fleet import connecting
from apps.fleet import selectors as fleet
from apps.fleet.models import Observation, Repository, Server
from apps.registry import services as registry
from demo.parts.ports import free_port
from tests.doubles.fleet import SimulatedFleet, SimulatedTriton
from tests.factories.fleets import FleetRows
from tests.factories.triton_models import ask
from tests.fixtures.world import World
from worker import clock, parts


def runs_that_wait(number: int) -> FleetRows:
    """A rollout of which so many runs are due and held by nobody."""
    rows = FleetRows()
    rows.environment("prod")
    rows.model("digits")
    rows.version("digits", 1)
    rows.placed("digits", "prod", None)
    for position in range(number):
        rows.server(f"waiting-{position}", "prod")
    rows.rollout("digits", "prod", None, 1, state="running").runs.update(state="running", due_at=timezone.now())
    return rows


def test_a_warm_up_that_failed_says_why_for_each_server(transactional_db: None) -> None:
    rows = FleetRows()
    rows.environment("prod")
    for name in ("prod-1", "prod-2"):
        rows.server(name, "prod", grpc=f"127.0.0.1:{free_port()}")
    rows.model("digits")
    rows.version("digits", 1)
    pixels = {"name": "pixels", "datatype": "FP32", "shape": [1, 64], "data": [0] * 64}
    registry.add_sample(COMMAND, model="digits", name="zero", inputs=[pixels])
    placement = rows.placed("digits", "prod", 1)
    services.schedule_warmup(COMMAND, environment="prod", model="digits", every_s=60)

    clock.warm_due(timezone.now())

    probes = {probe.server.name: probe for probe in selectors.probes(placement)}
    assert set(probes) == {"prod-1", "prod-2"}
    assert not any(probe.has_passed for probe in probes.values())
    assert "prod-2" in probes["prod-2"].message


@pytest.mark.parametrize(("every_s", "apart_s"), [(10, [0.0, 0.35, 0.7]), (0.6, [0.0, 0.14, 0.28])])
def test_a_large_fleet_is_observed_in_shards_one_after_another(
    transactional_db: None, settings: Settings, every_s: float, apart_s: list[float]
) -> None:
    settings.CONCH = {**settings.CONCH, "observe_every_s": every_s}
    rows = FleetRows()
    rows.environment("prod")
    for number in range(120):
        rows.server(f"prod-{number}", "prod")

    with transaction.atomic():
        clock.observe_fleet(timezone.now())
        sent = [cast("partial[None]", entry[1]).args for entry in connection.run_on_commit]

    assert [round(after_s, 3) for _, after_s, *_ in sent] == apart_s
    assert [len(asked["server_ids"]) for *_, asked in sent] == [50, 50, 20]


@pytest.mark.parametrize(
    ("waiting", "looked_at"), [(99, ["seen-9s", "seen-12s", "seen-never"]), (100, ["seen-12s", "seen-never"])]
)
def test_servers_are_looked_at_every_second_time_while_many_runs_wait_for_a_worker(
    transactional_db: None, settings: Settings, waiting: int, looked_at: list[str]
) -> None:
    settings.CONCH = {**settings.CONCH, "observe_every_s": 10}
    rows, now = runs_that_wait(waiting), timezone.now()
    Server.objects.update(state="retired")
    for name in ("seen-9s", "seen-12s", "seen-never"):
        rows.server(name, "prod")
    Observation.objects.filter(server__name="seen-9s").update(at=now - timedelta(seconds=9))
    Observation.objects.filter(server__name="seen-12s").update(at=now - timedelta(seconds=12))
    Observation.objects.filter(server__name="seen-never").delete()

    with transaction.atomic():
        clock.observe_fleet(now)
        sent = [cast("partial[None]", entry[1]).args for entry in connection.run_on_commit]

    (asked,) = (asked["server_ids"] for *_, asked in sent)
    assert asked == [rows.servers[name].pk for name in looked_at]


@pytest.mark.parametrize(("waiting", "woken"), [(99, ["conch.measure_memory"]), (100, [])])
def test_memory_is_read_once_fewer_runs_wait_for_a_worker(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch, waiting: int, woken: list[str]
) -> None:
    runs_that_wait(waiting)
    monkeypatch.setattr(clock, "DUE", (("conch.measure_memory", "reading_id", lambda _: [7]),))

    with transaction.atomic():
        clock.sweep(timezone.now())
        sent = [cast("partial[None]", entry[1]).args[0] for entry in connection.run_on_commit]

    assert sent == woken


@pytest.mark.live
def test_a_due_warm_up_is_a_real_request_to_the_live_version(make_world: Callable[..., World]) -> None:
    world = make_world()
    world.promote(world.upload())
    services.schedule_warmup(COMMAND, environment="prod", model=world.model, every_s=60)

    clock.warm_due(timezone.now())

    newest = selectors.probes(selectors.get_placement("prod", world.model))[0]
    assert (newest.kind, newest.version, newest.has_passed) == ("warmup", 1, True)
    assert newest.latency_us is not None


def test_a_warm_up_sends_up_to_five_samples_to_the_live_version_and_to_a_loaded_standby(
    transactional_db: None, simulated_fleet: SimulatedFleet, tmp_path: Path
) -> None:
    triton = SimulatedTriton(simulated_fleet, "prod-1", repository=tmp_path / "models")
    simulated_fleet.add(triton)
    world = World.of("prod", "digits", [triton])  # type: ignore[list-item]
    first = world.upload()
    for name in ("a", "b", "c", "d", "e", "f", "g"):
        x = {"name": "x", "datatype": "FP32", "shape": [1, 4], "data": [1, 1, 1, 1]}
        registry.add_sample(COMMAND, model="digits", name=name, inputs=[x])
    world.promote(first)
    world.promote(world.upload())
    services.schedule_warmup(COMMAND, environment="prod", model="digits", every_s=60)
    backend = connecting.connect(fleet.get_server("prod-1"))
    before = {version: ask(backend, "digits", version).answered for version in (1, 2)}

    clock.warm_due(timezone.now())

    after = {version: ask(backend, "digits", version).answered for version in (1, 2)}
    probes = selectors.probes(selectors.get_placement("prod", "digits"))
    assert {version: after[version] - before[version] - 1 for version in (1, 2)} == {1: 5, 2: 5}
    warmed = sorted((probe.version, probe.has_passed) for probe in probes if probe.kind == "warmup")
    assert warmed == [(1, True), (2, True)]
    triton.kill()


def test_a_repository_that_is_away_keeps_no_other_from_being_tidied(db: None, tmp_path: Path) -> None:
    rows = FleetRows()
    for name in ("away", "here"):
        rows.environment(name)
    root = tmp_path / "here"
    (root / "m.shadow").mkdir(parents=True)
    os.utime(root / "m.shadow", (0, 0))
    Repository.objects.filter(name="away-models").update(path=str(tmp_path / "away"))
    Repository.objects.filter(name="here-models").update(path=str(root))

    clock.tidy(timezone.now())

    assert os.listdir(root) == []


def test_a_store_that_cannot_be_used_is_told_and_hides_no_other_part(
    db: None, tmp_path: Path, settings: Settings
) -> None:
    (tmp_path / "file").write_text("not a directory")
    settings.CONCH = {**settings.CONCH, "artifacts_dir": tmp_path / "file" / "artifacts"}

    parts.check_itself(timezone.now())

    found = {part.name: part for part in fleet.health(now=timezone.now())}
    assert not found["artifacts"].is_well
    assert "Not a directory" in found["artifacts"].message
    assert found["worker"].is_well
    assert found["beat"].is_well


def test_a_store_that_cannot_be_swept_keeps_nothing_else_from_being_done(
    db: None, tmp_path: Path, settings: Settings
) -> None:
    rows = FleetRows()
    rows.environment("here")
    root = tmp_path / "here"
    (root / "m.shadow").mkdir(parents=True)
    os.utime(root / "m.shadow", (0, 0))
    Repository.objects.update(path=str(root))
    (tmp_path / "store" / "staging").mkdir(parents=True)
    (tmp_path / "store" / "incoming" / "old").mkdir(parents=True)
    os.utime(tmp_path / "store" / "incoming" / "old", (0, 0))
    settings.CONCH = {**settings.CONCH, "artifacts_dir": tmp_path / "store"}

    clock.sweep(timezone.now())
    clock.tidy(timezone.now())

    assert os.listdir(root) == []
