"""Hold the live ensembles that the model is a member of against their own golden samples: clients ask those."""

from typing import Any

from apps.deployments import services
from apps.deployments.errors import EnsembleBroken
from apps.deployments.selectors import Ensemble
from apps.deployments.states import RolloutKind
from apps.registry import fitting
from worker.context import Context
from worker.outcomes import Done, Outcome, Wait
from worker.steps._requests import differences

# The server takes an ensemble down and up again by itself while a member of it changes.
READY_WITHIN_S = 10.0


def run(context: Context) -> Outcome:
    """After the switch, because an ensemble reaches its members by name: a failure turns the member's rollout back.

    What goes back or is reconfigured is not turned round for an ensemble's sake: there it is only told.
    """
    work = context.work
    tried: dict[str, int] = {}
    broken: list[str] = []
    for ensemble, samples in work.ensembles:
        if not context.backend.is_ready(ensemble.model, ensemble.number) and context.seconds_in_step() < READY_WITHIN_S:
            return Wait(0.3, f"{work.server.name}: {ensemble.model} {ensemble.number} is not ready yet")
        try:
            tried[ensemble.model] = _try(context, ensemble, samples)
        except EnsembleBroken as error:
            if work.rollout.kind == RolloutKind.PROMOTE:
                raise
            services.tell_once(
                context.step,
                work.rollout,
                "ensemble_broken",
                about=ensemble.model,
                reason=error.message,
                server=work.server.name,
            )
            broken.append(error.message)
    return Done({"ensembles": tried, **({"broken": broken} if broken else {})})


def _try(context: Context, ensemble: Ensemble, samples: list[Any]) -> int:
    """How many golden samples it has answered right; EnsembleBroken where it did not, or is not there."""
    if not context.backend.is_ready(ensemble.model, ensemble.number):
        raise _broken(context, ensemble.model, ensemble.number, ["it is no longer ready"])
    fit = [] if context.work.config_format.cannot_ask(ensemble.config) else fitting.split(samples, ensemble)[0]
    golden = [sample for sample in fit if sample.is_golden]
    found = [text for sample in golden for text in differences(context, ensemble.model, ensemble.number, sample)]
    if found:
        raise _broken(context, ensemble.model, ensemble.number, found)
    return len(golden)


def _broken(context: Context, model: str, number: int, found: list[str]) -> EnsembleBroken:
    work = context.work
    return EnsembleBroken(
        f"{work.server.name}: {model} {number}, made of {work.model} {context.new.number}: {'; '.join(found[:3])}",
        reason="\n".join(found[:100]),
        ensemble=model,
    )
