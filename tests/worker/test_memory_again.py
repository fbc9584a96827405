"""Memory where what is loaded is loaded again: under another configuration, or healed."""

from collections.abc import Callable

from apps.deployments import selectors
from apps.deployments.models import MemoryReading
from apps.deployments.plan import config_digest
from apps.fleet import connecting
from apps.fleet import selectors as fleet
from apps.fleet.models import ObservedVersion, Server
from tests.doubles.triton.memory import PARAMETER
from tests.factories.memory import reading
from tests.fixtures.world import World
from tests.worker.cards import EACH, MIB, at_rest, heal, kept, promote, reconfigure

BATCHING = {"dynamic_batching": {"max_queue_delay_microseconds": 500}}


def test_an_overlay_is_measured_and_tells_nothing_of_what_the_version_takes(
    make_carded: Callable[..., World],
) -> None:
    world = make_carded(9)
    promote(world)

    ended = reconfigure(world, {"parameters": {PARAMETER: {"string_value": str(2 * EACH)}}})
    at_rest()

    (told, *_) = selectors.server_memory(fleet.get_server("prod-1")).changes
    (run,) = ended.runs.filter(direction="forward")
    assert ended.state == "succeeded", world.told(ended.pk)
    assert (told.action, told.version, told.moved_bytes) == ("reconfigure", 1, EACH)
    assert {one.bytes_each for one in selectors.expectations("heavy", {1}).values()} == {EACH}
    assert run.steps.get(name="preflight").detail["memory"].startswith("unknown: no load of this version under such")


def test_an_overlay_that_does_not_fit_beside_itself_is_refused_and_the_old_one_serves(
    make_carded: Callable[..., World],
) -> None:
    world = make_carded(1.5)
    promote(world)

    ended = reconfigure(world, BATCHING)

    (run,) = ended.runs.filter(direction="forward")
    assert (ended.state, run.error["code"]) == ("rolled_back", "memory_short"), world.told(ended.pk)
    assert "beside itself under the configuration it has" in run.error["message"]
    assert run.has_changed_server is False
    assert world.ready("prod-1") == {1}


def test_an_overlay_is_held_against_what_the_standby_takes_too_that_starts_anew_with_it(
    make_carded: Callable[..., World],
) -> None:
    world = make_carded(3.5)
    promote(world)
    promote(world)

    ended = reconfigure(world, BATCHING)

    (run,) = ended.runs.filter(direction="forward")
    assert (ended.state, run.error["code"]) == ("rolled_back", "memory_short"), world.told(ended.pk)
    assert "heavy 2 with the standby 1 takes about 600.0 MiB of gpu memory, 450.0 MiB are free" in run.error["message"]
    assert world.ready("prod-1") == {1, 2}


def test_a_heal_that_does_not_fit_is_refused_and_one_that_does_is_measured(make_carded: Callable[..., World]) -> None:
    world = make_carded(1.5)
    promote(world)
    backend = connecting.connect(fleet.get_server("prod-1"))
    reading(Server.objects.get(), "heavy", 1, before=MIB, after=MIB + 9 * EACH)
    backend.unload("heavy", timeout_s=9)
    placement = selectors.get_placement("prod", "heavy")

    refused = heal(world, placement)
    MemoryReading.objects.filter(after__0__used__gt=9 * EACH).delete()
    healed = heal(world, placement)
    at_rest()

    (run,) = refused.runs.filter(direction="forward")
    assert (refused.state, run.error["code"]) == ("failed", "memory_short"), world.told(refused.pk)
    assert healed.state == "succeeded", world.told(healed.pk)
    assert kept() == [("load", 1, EACH), ("load", 1, EACH)]


def test_a_heal_of_an_old_configuration_is_held_against_all_that_starts_anew_with_it(
    make_carded: Callable[..., World],
) -> None:
    world = make_carded(3.5)
    promote(world)
    reconfigure(world, BATCHING)
    at_rest()
    promote(world)
    placement = selectors.get_placement("prod", "heavy")
    # As if it had been left out of that change.
    ObservedVersion.objects.update(loaded_under=config_digest({}))

    refused = heal(world, placement)
    ObservedVersion.objects.update(loaded_under=config_digest(BATCHING))
    healed = heal(world, placement)

    (run,) = refused.runs.filter(direction="forward")
    assert (refused.state, run.error["code"]) == ("failed", "memory_short"), world.told(refused.pk)
    assert "heavy 2 with the standby 1 takes about 600.0 MiB of gpu memory, 450.0 MiB are free" in run.error["message"]
    assert "beside itself under the configuration it has" in run.error["message"]
    assert world.ready("prod-1") == {1, 2}
    assert healed.state == "succeeded", world.told(healed.pk)
