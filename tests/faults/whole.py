"""The one assertion after every fault: nothing is left half done, and clients noticed nothing they need not."""

from typing import Any

from apps.audit import selectors as audit
from apps.common.names import shadow_of
from apps.deployments import selectors
from apps.fleet import connecting
from apps.fleet import selectors as fleet
from apps.fleet.repositories import posix as repositories
from apps.serving.protocol import Readiness
from tests.factories.triton_models import ask
from tests.faults.ground import Ground
from tests.faults.table import Fault
from tests.fixtures.world import World

BEGAN = {
    "promote": "promote",
    "rollback": "roll_back",
    "unload": "unload",
    "retire": "retire_standby",
    "reconfigure": "set_overlay",
    "heal": "heal",
}
LIVE_RUNS = {"queued", "running"}
LIVE_STEPS = {"running", "waiting"}


def assert_whole(ground: Ground, rollout_id: int, fault: Fault) -> None:
    """The right version serves everywhere; one end, no lease, all of it in the audit; no request failed in vain."""
    for world, moved in [(ground.world, rollout_id), *ground.others]:
        rollout, told = selectors.get_rollout(moved), world.told(moved)
        assert rollout.state == fault.ends, told
        assert rollout.error.get("code", "") == fault.code or not fault.code, told
        _ended_once(rollout, told)
        _serves_what_is_desired(world, told)
        _left_nothing(world, told)
    failures = [words for traffic in ground.traffic.values() for words in traffic.failures]
    assert fault.goes_down or failures == [], f"{failures[:3]}\n{told}"
    assert all(traffic.answered for traffic in ground.traffic.values())


def _ended_once(rollout: Any, told: str) -> None:
    runs = list(rollout.runs.all())
    steps = [step for run in runs for step in run.steps.all()]
    assert rollout.finished_at is not None, told
    assert [run.pk for run in runs if run.state in LIVE_RUNS or run.finished_at is None] == [], told
    assert [run.pk for run in runs if run.lease_owner or run.lease_until] == [], told
    assert [step.name for step in steps if step.state in LIVE_STEPS] == [], told
    assert selectors.active_rollout(rollout.placement) is None
    verbs = [event.verb for event in audit.events(subject=str(rollout.pk))]
    assert verbs.count(BEGAN[rollout.kind]) == 1, verbs
    assert [verb for verb in verbs if verb.startswith("rollout_")] == [f"rollout_{rollout.state}"], verbs


def _serves_what_is_desired(world: World, told: str) -> None:
    """Every server of the fleet has exactly the placement's versions, and answers with the active one."""
    placement = selectors.get_placement(world.environment, world.model)
    desired = selectors.desired_versions(placement)
    for name in _members(world):
        assert world.ready(name) == desired, f"{name}: {world.ready(name)} != {desired}\n{told}"
        _answers_with_the_active(world, name, placement.active, told)
    written = repositories.read_config(world.repository, model=world.model) or ""
    assert all(f"versions: {number}" in written for number in desired), written
    assert bool(written) == bool(desired), written


def _answers_with_the_active(world: World, name: str, active: Any, told: str) -> None:
    """READY is what the server says of itself: an unversioned request shows what a client gets."""
    if active is not None:
        said = ask(connecting.connect(fleet.get_server(name)), world.model).version
        assert said == active.number, f"{name} answers with {said}, not {active.number}\n{told}"


def _left_nothing(world: World, told: str) -> None:
    shadow = shadow_of(world.model)
    assert shadow not in repositories.listing(world.repository), told
    for name in _members(world):
        index = connecting.connect(fleet.get_server(name)).index()
        loaded = [one.version for one in index if one.model == shadow and one.state != Readiness.UNAVAILABLE]
        assert loaded == [], told


def _members(world: World) -> list[str]:
    """The servers that have not been retired."""
    return list(fleet.servers(environment=world.environment, state="active").values_list("name", flat=True))
