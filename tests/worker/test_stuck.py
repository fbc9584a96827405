"""Loads and unloads that never end, on a real Triton: told with the only way out, and nobody else waits."""

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from apps.common.actor import COMMAND
from apps.deployments import healing, selectors, services
from apps.fleet import connecting
from apps.fleet import selectors as fleet
from apps.fleet.models import ObservedVersion
from apps.registry import services as registry
from tests.factories.triton_models import ones
from tests.fixtures.world import World
from tests.worker.test_reconciling import heal, look

pytestmark = pytest.mark.live


def test_a_load_that_hangs_is_told_with_its_way_out_and_gone_after_the_restart(
    make_world: Callable[..., World],
) -> None:
    world = make_world(is_fresh=True)
    other = replace(world, model=f"{world.model}-other")
    registry.register_model(COMMAND, name=other.model)
    registry.update_model(COMMAND, name=world.model, load_deadline_s=10)
    world.promote(world.upload())

    hung = world.promote(world.upload(initialize="time.sleep(3600)"))
    # As if it had been watched from the beginning.
    ObservedVersion.objects.filter(state="LOADING").update(since=timezone.now() - timedelta(seconds=11))
    look(world)
    stuck = selectors.kept_drift(server="prod-1").get()
    beside = other.promote(other.upload())
    world.tritons["prod-1"].kill()
    world.tritons["prod-1"].start()
    heal(world, "prod-1", {1})
    heal(other, "prod-1", {1})

    assert (hung.state, hung.error["facts"]["cause"]) == ("rolled_back", "load_stuck"), world.told(hung.pk)
    assert (stuck.kind, stuck.model, stuck.why_not) == ("stuck", f"{world.model}.shadow", healing.RESTART)
    assert beside.state == "succeeded", world.told(beside.pk)
    assert list(selectors.kept_drift(server="prod-1")) == []
    assert selectors.in_service(fleet.get_server("prod-1"), now=timezone.now()).is_in_service


def test_an_unload_that_never_ends_says_that_only_a_restart_helps(
    make_world: Callable[..., World], tmp_path: Path
) -> None:
    world, flag = make_world(policy={"progress_deadline_s": 10}), tmp_path / "deadly"
    world.promote(world.upload(execute=f"os.path.exists({str(flag)!r}) and os._exit(1)"))
    backend = connecting.connect(fleet.get_server("prod-1"))
    flag.touch()
    killing = threading.Thread(target=_ask_in_vain, args=(backend, world.model))
    killing.start()
    time.sleep(1)

    ended = world.walk(services.unload(COMMAND, environment="prod", model=world.model, reason="not needed").pk)
    killing.join()

    run = ended.runs.get(direction="forward")
    assert (ended.state, run.error["code"]) == ("failed", "unload_stuck"), world.told(ended.pk)
    assert "restart" in run.error["hint"]


def _ask_in_vain(backend: object, model: str) -> None:
    with pytest.raises(Exception, match=model):
        backend.infer(model, None, ones(), timeout_s=20)  # type: ignore[attr-defined]
