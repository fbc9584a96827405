"""Servers that lose what they should serve, with real Tritons under traffic: they get it back by themselves."""

import time
from collections.abc import Callable

import pytest
from django.utils import timezone

from apps.common.actor import COMMAND
from apps.deployments import selectors, services
from apps.deployments.models import Rollout
from apps.fleet import connecting
from apps.fleet import selectors as fleet
from apps.fleet import services as fleet_services
from apps.fleet.models import Observation
from apps.fleet.repositories import posix as repositories
from apps.serving.backends.triton.config import CONFIG
from tests.fixtures.traffic import Traffic
from tests.fixtures.world import World, step_once
from worker import clock

pytestmark = pytest.mark.live
MakeWorld = Callable[..., World]
# From the moment it is seen.
HEALED_WITHIN_S = 10


def look(world: World) -> None:
    """What the clock does every few seconds."""
    ids = list(fleet.servers(environment=world.environment).values_list("pk", flat=True))
    clock.observe_servers(ids, timezone.now())


def heal(world: World, server: str, versions: set[int]) -> float:
    """Do what workers do until the server serves these and no heal moves; the seconds since it was seen."""
    deadline = time.monotonic() + 30
    look(world)
    while not Observation.objects.get(server__name=server).is_reachable:
        assert time.monotonic() < deadline
        look(world)
    began = time.monotonic()
    while world.ready(server) != versions or Rollout.objects.filter(kind="heal", finished_at=None).exists():
        assert time.monotonic() - began < 60, world.told(Rollout.objects.latest("pk").pk)
        step_once()
    took = time.monotonic() - began
    look(world)
    return took


def last_heal(world: World) -> Rollout:
    return Rollout.objects.filter(kind="heal").latest("pk")


def drift(server: str) -> list[tuple[int, str]]:
    return list(selectors.kept_drift(server=server).values_list("version", "kind"))


def test_a_triton_killed_and_back_empty_is_healed_while_the_others_serve(make_world: MakeWorld) -> None:
    world = make_world(servers=2, is_fresh=True)
    world.promote(world.upload())
    world.promote(world.upload())
    look(world)

    with Traffic(world.tritons["prod-2"].grpc, world.model, pause_s=0.01) as traffic:
        world.tritons["prod-1"].kill()
        look(world)
        silent = drift("prod-1")
        world.tritons["prod-1"].start()
        took_s = heal(world, "prod-1", {1, 2})

    assert silent == [(0, "unreachable")]
    assert took_s < HEALED_WITHIN_S
    assert last_heal(world).state == "succeeded", world.told(last_heal(world).pk)
    assert [run.server.name for run in last_heal(world).runs.filter(direction="forward")] == ["prod-1"]
    assert (drift("prod-1"), traffic.failures) == ([], [])
    assert Observation.objects.get(server__name="prod-1").restarted_at is not None


def test_a_triton_that_came_back_by_itself_is_recognised_and_verified(make_world: MakeWorld) -> None:
    world = make_world(is_fresh=True, load_models=None)
    world.promote(world.upload())
    look(world)

    world.tritons["prod-1"].kill()
    world.tritons["prod-1"].start()
    before = world.ready("prod-1")
    heal(world, "prod-1", {1})

    assert before == {1}
    verified = last_heal(world).runs.get(direction="forward").steps.get(name="verify")
    assert verified.state == "succeeded"
    assert drift("prod-1") == []


def test_under_a_hold_an_empty_restart_heals_nothing_and_says_so(make_world: MakeWorld) -> None:
    world = make_world(is_fresh=True)
    world.promote(world.upload())
    look(world)
    services.hold(COMMAND, environment="prod", model=world.model, reason="an incident")

    world.tritons["prod-1"].kill()
    world.tritons["prod-1"].start()
    look(world)
    step_once()
    told = selectors.kept_drift(server="prod-1").get(version=1)
    empty, heals = world.ready("prod-1"), Rollout.objects.filter(kind="heal").count()
    services.unhold(COMMAND, environment="prod", model=world.model, reason="it is over")
    heal(world, "prod-1", {1})

    assert (empty, heals) == (set(), 0)
    assert f"{world.model} in prod is held by command line: an incident" in told.why_not
    assert last_heal(world).state == "succeeded", world.told(last_heal(world).pk)


def test_a_model_unloaded_by_hand_comes_back_and_what_was_loaded_by_hand_stays(make_world: MakeWorld) -> None:
    world = make_world()
    world.promote(world.upload())
    backend = connecting.connect(fleet.get_server("prod-1"))
    look(world)

    backend.unload(world.model, timeout_s=5)
    while world.ready("prod-1"):
        time.sleep(0.05)
    took_s = heal(world, "prod-1", {1})
    extra = world.upload()
    (world.repository / world.model / str(extra)).mkdir()
    source = world.repository / world.model / "1" / "model.py"
    (world.repository / world.model / str(extra) / "model.py").write_bytes(source.read_bytes())
    persisted = CONFIG.parse(repositories.read_config(world.repository, model=world.model) or "").document
    both = {**persisted, "version_policy": {"specific": {"versions": [1, extra]}}}
    backend.load(world.model, config=both, timeout_s=30)
    heals = Rollout.objects.filter(kind="heal").count()
    look(world)

    assert took_s < HEALED_WITHIN_S
    assert drift("prod-1") == [(extra, "wrong_set")]
    assert (world.ready("prod-1"), Rollout.objects.filter(kind="heal").count()) == ({1, extra}, heals)


def test_a_new_server_gets_everything_and_is_only_then_in_service(make_world: MakeWorld) -> None:
    world = make_world(servers=2)
    fleet_services.cordon_server(COMMAND, name="prod-2", reason="not there yet")
    world.promote(world.upload())
    newcomer = fleet.get_server("prod-2")
    before = selectors.in_service(newcomer, now=timezone.now())

    fleet_services.uncordon_server(COMMAND, name="prod-2")
    heal(world, "prod-2", {1})

    assert before.reasons == (f"{world.model} 1 is not loaded",)
    assert selectors.in_service(fleet.get_server("prod-2"), now=timezone.now()).is_in_service
