"""Gates over a real Triton and a real Prometheus, under traffic: what is slow or wrong goes back by itself."""

import time
import urllib.request
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings

from apps.access.services import actor_of, add_user, grant_role
from apps.common.actor import COMMAND
from apps.deployments import selectors, services
from apps.registry import services as registry
from demo.parts.ports import free_port
from demo.parts.prometheus import HttpDiscovery, Prometheus
from demo.parts.triton import Triton
from tests.apps.metrics.doubles import exporters
from tests.demo.home import shared_home
from tests.factories.triton_models import config_text
from tests.fixtures.traffic import Traffic
from tests.fixtures.world import World, step_once
from worker.judging import judge_rollout

pytestmark = pytest.mark.live

P99 = {"name": "p99", "signal": "latency_quantile", "against": "objective"}
ERRORS = {"name": "errors", "signal": "error_ratio", "limit": 0.01}
BRISK = {"window_s": 6, "every_s": 1, "minimum_samples": 20}
SOFT_ERROR = """
if time.time() - self.started_at > 3:
    answers.append(pb.InferenceResponse(error=pb.TritonError("no luck")))
    continue
"""


@pytest.fixture
def prometheus(
    triton_of: Callable[..., Triton], tmp_path_factory: pytest.TempPathFactory, settings: Settings
) -> Iterator[Prometheus]:
    """It scrapes the server every second."""
    triton = triton_of("prod-1")

    def scrape(_: int) -> str:
        with urllib.request.urlopen(f"http://{triton.metrics}/metrics", timeout=5) as answer:
            text: str = answer.read().decode()
        return text

    root = tmp_path_factory.mktemp("prometheus")
    (root / "token").write_text("any")
    with exporters({"prod-1": scrape}) as double:
        discovery = HttpDiscovery(double.discovery_url, root / "token", refresh_s=1)
        packages = shared_home() / "packages"
        part = Prometheus(root, port=free_port(), packages=packages, discovery=discovery, scrape_interval_s=1)
        part.start()
        part.wait_ready()
        settings.CONCH = {**settings.CONCH, "prometheus_url": part.url, "scrape_interval_s": 1}
        yield part
        part.stop()


def gated(world: World, *gates: dict[str, Any]) -> None:
    """Version 1 is live, and from now on promotions bake for eight seconds under these gates."""
    registry.update_model(COMMAND, name=world.model, slo_p99_ms=60)
    world.promote(world.upload())
    services.update_environment(
        COMMAND, name=world.environment, final_bake_s=8, gates=[{**gate, **BRISK} for gate in gates]
    )


def verdicts(rollout_id: int) -> set[str]:
    return set(selectors.judgements_of(rollout_id).values_list("verdict", flat=True))


def test_a_slow_version_is_rolled_back_by_its_gate_and_a_quick_one_stays(
    make_world: Callable[..., World], prometheus: Prometheus
) -> None:
    world = make_world()
    gated(world, P99, ERRORS)
    slow, quick = world.upload(execute="time.sleep(0.15)"), world.upload()

    with Traffic(world.tritons["prod-1"].grpc, world.model, pause_s=0.02) as traffic:
        refused = world.promote(slow)
        serving = world.ready("prod-1")
        taken = world.promote(quick, confirm=["hold"])

    assert refused.state == "rolled_back", world.told(refused.pk)
    assert refused.error["code"] == "gate_failed"
    assert "gate p99" in refused.error["message"]
    assert serving == {1}
    placement = selectors.get_placement(world.environment, world.model)
    assert selectors.ban_on(placement, refused.to_version) is not None
    assert taken.state == "succeeded", world.told(taken.pk)
    assert "pass" in verdicts(taken.pk)
    assert traffic.failures == []
    failed = selectors.judgements_of(refused.pk).filter(verdict="fail")[0]
    assert failed.value is not None
    assert failed.value > 60
    assert failed.samples is not None
    assert failed.samples >= 20


def test_errors_that_triton_counts_as_successes_do_not_pass(
    make_world: Callable[..., World], prometheus: Prometheus
) -> None:
    world = make_world()
    gated(world, ERRORS)
    bad = world.upload(execute=SOFT_ERROR)

    with Traffic(world.tritons["prod-1"].grpc, world.model, pause_s=0.02):
        rollout = world.promote(bad)

    assert rollout.state == "rolled_back", world.told(rollout.pk)
    assert "of Conch's own requests failed" in rollout.error["message"]
    assert "no luck" in rollout.error["message"]
    assert world.ready("prod-1") == {1}


def test_without_traffic_it_pauses_unless_the_policy_sends_some_of_its_own(
    make_world: Callable[..., World], prometheus: Prometheus
) -> None:
    world = make_world()
    gated(world, P99)
    rollout = services.promote(COMMAND, environment=world.environment, model=world.model, version=world.upload())
    walk_until(world, rollout.pk, "paused")

    services.abort(COMMAND, rollout=rollout.pk, reason="nobody asks it")
    world.walk(rollout.pk)
    services.update_environment(COMMAND, name=world.environment, synthetic={"requests": 40})
    taken = world.promote(world.upload())

    assert verdicts(rollout.pk) == {"inconclusive"}
    assert taken.state == "succeeded", world.told(taken.pk)
    passed = selectors.judgements_of(taken.pk).filter(verdict="pass")[0]
    assert passed.synthetic > 0


def test_an_approved_promotion_pauses_between_its_servers_and_goes_on(make_world: Callable[..., World]) -> None:
    world = make_world(servers=2)
    bob = add_user(COMMAND, username="bob", password="a long password")
    grant_role(COMMAND, username="bob", role="operator")
    services.update_environment(COMMAND, name=world.environment, approval="another")
    rollout = services.promote(COMMAND, environment=world.environment, model=world.model, version=world.upload())
    step_once()
    untouched = world.ready("prod-1")

    services.approve(actor_of(bob, door="console", address=""), rollout=rollout.pk, reason="read it")
    step_once()
    services.pause(COMMAND, rollout=rollout.pk, reason="one first")
    walk_until(world, rollout.pk, "paused", servers_done=1)
    between = world.ready("prod-1"), world.ready("prod-2")
    services.resume(COMMAND, rollout=rollout.pk, reason="all good")
    ended = world.walk(rollout.pk)

    assert untouched == set()
    assert between == ({1}, set())
    assert ended.state == "succeeded", world.told(ended.pk)
    assert (world.ready("prod-1"), world.ready("prod-2")) == ({1}, {1})


def walk_until(world: World, rollout_id: int, state: str, *, servers_done: int = 0) -> None:
    """Do what workers and the sweep would do, until the rollout stands there."""
    deadline = time.monotonic() + 60
    while True:
        step_once()
        done = selectors.get_rollout(rollout_id).runs.filter(state="succeeded").count()
        if selectors.state_of(rollout_id) == state and done >= servers_done:
            return
        assert time.monotonic() < deadline, world.told(rollout_id)


NARROW = config_text("{name}").replace("dims: [ 4 ]", "dims: [ 3 ]")
PROBES = {"name": "probes", "signal": "probe_failures", "limit": 0, "window_s": 30, "every_s": 1, "minimum_samples": 1}


def synthetic_made(world: World) -> int:
    placement = selectors.get_placement(world.environment, world.model)
    return sum(probe.kind == "synthetic" for probe in selectors.probes(placement, limit=500))


def test_samples_of_another_interface_are_not_held_against_a_version(make_world: Callable[..., World]) -> None:
    world = make_world()
    world.promote(world.upload())
    registry.add_sample(
        COMMAND,
        model=world.model,
        name="wide",
        inputs=[{"name": "x", "datatype": "FP32", "shape": [1, 4], "data": [1, 1, 1, 1]}],
    )
    services.update_environment(COMMAND, name=world.environment, final_bake_s=3, gates=[PROBES])

    rollout = world.promote(world.upload(config=NARROW.replace("{name}", world.model)), confirm=["interface"])

    assert rollout.state == "succeeded", world.told(rollout.pk)
    assert verdicts(rollout.pk) == {"pass"}


def test_a_slow_model_is_asked_no_longer_than_a_look_may_take(make_world: Callable[..., World]) -> None:
    world = make_world()
    gates, synthetic = [{**ERRORS, **BRISK, "every_s": 600}], {"requests": 20}
    services.update_environment(COMMAND, name=world.environment, final_bake_s=60, gates=gates, synthetic=synthetic)
    number = world.upload(execute="time.sleep(0.2)")
    rollout = services.promote(COMMAND, environment=world.environment, model=world.model, version=number)
    while selectors.get_rollout(rollout.pk).baking_since is None:
        step_once()
    before = synthetic_made(world)

    judge_rollout(rollout.pk, now=timezone.now() + timedelta(seconds=700), sending_s=1)

    assert 1 <= synthetic_made(world) - before <= 8
