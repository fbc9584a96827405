"""Makes a request that somebody asked for by hand, and tells what the server spent on it."""

from collections.abc import Mapping
from time import sleep
from typing import Any

from django.utils import timezone
from numpy.typing import NDArray

from apps.common.errors import ControlPlaneError
from apps.deployments import services
from apps.fleet import connecting
from apps.registry import samples
from apps.serving.protocol import ServingBackend, Statistics

TIMEOUT_S = 30.0
# Of each output so many values are kept: what a person reads, not what a model can send.
MOST_VALUES = 512
# Between two questions whether the request is counted by now.
COUNTED_WITHIN_S = (0, 0.01, 0.05, 0.2)


def answer_trial(trial_id: int) -> None:
    """Ask once; a request that was delivered twice is made once."""
    trial = services.begin_trial(trial_id, now=timezone.now())
    if trial is None:
        return
    try:
        answer = _ask(connecting.connect(trial.server), trial.model.name, trial.version, trial.inputs)
    except ControlPlaneError as error:
        services.end_trial(trial, answer=None, error=error)
        return
    services.end_trial(trial, answer=answer)


def _ask(backend: ServingBackend, model: str, version: int, inputs: list[Mapping[str, Any]]) -> dict[str, Any]:
    before = _statistics(backend, model, version)
    answer = backend.infer(model, version, samples.to_tensors(inputs), timeout_s=TIMEOUT_S)
    return {
        "outputs": [_shown(name, array) for name, array in answer.outputs.items()],
        "latency_us": answer.latency_us,
        "spent": before and _spent_since(before, backend, model),
    }


def _spent_since(before: Statistics, backend: ServingBackend, model: str) -> dict[str, float] | None:
    """Asked until it is told: a server counts a request a moment after it has answered it."""
    for pause_s in COUNTED_WITHIN_S:
        sleep(pause_s)
        after = _statistics(backend, model, before.version)
        spent = after and _spent(before, after)
        if spent:
            return spent
    return None


def _statistics(backend: ServingBackend, model: str, version: int) -> Statistics | None:
    return next((one for one in backend.statistics(model) if one.version == version), None)


def _spent(before: Statistics, after: Statistics) -> dict[str, float] | None:
    """Mean microseconds of the requests that ended meanwhile: other people's too, so it says how many.

    None where the server counted none, or began to count anew.
    """
    requests = after.success_count - before.success_count
    if requests < 1:
        return None
    spent = {
        "queue_us": after.queue_us - before.queue_us,
        "input_us": after.compute_input_us - before.compute_input_us,
        "infer_us": after.compute_infer_us - before.compute_infer_us,
        "output_us": after.compute_output_us - before.compute_output_us,
    }
    return {name: round(value / requests, 1) for name, value in spent.items()} | {"requests": requests}


def _shown(name: str, array: NDArray[Any]) -> dict[str, Any]:
    return samples.to_entry(name, array, most_values=MOST_VALUES)
