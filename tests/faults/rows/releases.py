"""Several models in one release, and a worker that is lost where they meet."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from django.utils import timezone

from apps.common.actor import COMMAND
from apps.deployments import selectors, services
from apps.registry import services as registry
from tests.faults.ground import QUICK, Ground
from tests.faults.older import as_older
from tests.faults.table import Fault
from worker import engine


def _release(ground: Ground) -> Any:
    """Version 2 of two models, each of which has its version 1 live; the other is held to the same as the first."""
    first = ground.world
    second = replace(first, model=f"{first.model}b")
    registry.register_model(COMMAND, name=second.model)
    second.promote(second.upload())
    items = [{"model": world.model, "version": world.upload(initialize=QUICK)} for world in (first, second)]
    begun = services.begin_release(COMMAND, environment=first.environment, items=items, reason="together")
    moved = {one.placement.model.name: one.pk for one in begun.rollouts.all()}
    ground.others.append((second, moved[second.model]))
    return begun.pk, moved[first.model]


def _run(ground: Ground, rollout: int) -> int:
    """Its run, which has begun."""
    ground.walk_until(rollout, lambda: selectors.get_rollout(rollout).runs.filter(state="running").exists())
    return ground.run_of(rollout)


def _walk(ground: Ground, rollout: int) -> int:
    for _, other in ground.others:
        ground.walk(other)
    return ground.walk(rollout)


def _lost(moment: str) -> Callable[[Ground], int]:
    def strike(ground: Ground) -> int:
        _, rollout = _release(ground)
        ground.lose_worker(_run(ground, rollout), "barrier", moment)
        return _walk(ground, rollout)

    return strike


def _lost_going_back(ground: Ground) -> int:
    """The release is stopped while one of its runs has lost its worker at the barrier."""
    release, rollout = _release(ground)
    ground.lose_worker(_run(ground, rollout), "barrier", "after")
    services.abort_release(COMMAND, release=release, reason="not now")
    return _walk(ground, rollout)


def _lost_after_expose(ground: Ground) -> int:
    """Everything has passed, the first is switched, and its worker is gone."""
    _, rollout = _release(ground)
    ((_, other),) = ground.others
    ground.wait(lambda: ground.has_begun(other, "barrier"), other, meanwhile=lambda: _bring_on(other))
    ground.lose_worker(_run(ground, rollout), "expose", "after")
    return _walk(ground, rollout)


def _bring_on(rollout: int) -> None:
    """This rollout alone."""
    services.advance_rollout(rollout, now=timezone.now())
    for pk in selectors.get_rollout(rollout).runs.filter(state="running").values_list("pk", flat=True):
        engine.advance_run(pk)


def _restarted_after_expose(ground: Ground) -> int:
    """The server is gone and back when its first model is switched; the reconciler mends what nobody looks at again."""
    _, rollout = _release(ground)

    def restart() -> None:
        ground.triton.kill()
        ground.triton.start()

    with ground.at_step("expose", after=restart):
        _walk(ground, rollout)
    for world, other in ground.others:
        ground.heal(other, model=world)
    return ground.heal(rollout)


def _older_documents(ground: Ground) -> int:
    """Both wait at the barrier, in rows as an older release wrote them; a newer one switches them."""
    _, rollout = _release(ground)
    ((_, other),) = ground.others
    ground.wait(lambda: ground.has_begun(other, "barrier"), other, meanwhile=lambda: _bring_on(other))
    ground.lose_worker(_run(ground, rollout), "barrier", "before")
    for pk in (rollout, other):
        as_older(pk)
    return _walk(ground, rollout)


def _restarted(ground: Ground) -> int:
    """The server is gone and back while the versions meet at the barrier."""
    _, rollout = _release(ground)

    def restart() -> None:
        ground.triton.kill()
        ground.triton.start()

    with ground.at_step("barrier", before=restart):
        return _walk(ground, rollout)


KILLED = "worker killed"
ROWS = [
    *(Fault(KILLED, f"{moment} barrier of a release", _lost(moment)) for moment in ("before", "during", "after")),
    Fault(KILLED, "at the barrier of a release that goes back", _lost_going_back, ends="rolled_back"),
    Fault(KILLED, "after expose of a release", _lost_after_expose),
    Fault("Triton restarted", "before barrier", _restarted, goes_down=True, is_fresh=True),
    Fault("Triton restarted", "after expose of a release", _restarted_after_expose, goes_down=True, is_fresh=True),
    Fault("release upgraded", "a release at its barrier", _older_documents),
]
