"""Takes golden answers from the version that is live: the same request twice, and both answers must agree."""

from datetime import timedelta
from typing import Any

from django.utils import timezone

from apps.common.errors import ControlPlaneError
from apps.common.keeping import error_document
from apps.deployments import selectors as deployments
from apps.deployments.errors import AnswersVary, NothingPlaced, NotServedThere
from apps.fleet import connecting
from apps.registry import golden, samples
from apps.registry import services as registry
from apps.serving.protocol import ServingBackend

TIMEOUT_S = 30.0
# Longer than two requests may take: then another worker looks.
LEASE = timedelta(seconds=90)
AGAIN = timedelta(seconds=10)
# How long a server that does not answer is waited for.
PATIENCE = timedelta(minutes=10)


def capture_golden(sample_id: int) -> None:
    """Safe to deliver twice: one worker holds the sample, and what is kept is kept once."""
    now = timezone.now()
    sample = registry.claim_capture(sample_id, now=now, until=now + LEASE)
    if sample is None:
        return
    try:
        told, outputs = _capture(sample)
    except ControlPlaneError as error:
        is_over = not error.retryable or now - sample.created_at > PATIENCE
        again_at = None if is_over else timezone.now() + AGAIN
        registry.end_capture(sample, told={"error": error_document(error)}, again_at=again_at)
        return
    registry.end_capture(sample, told={**told, "error": {}}, outputs=outputs)


def _capture(sample: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    model, environment = sample.model.name, sample.capture["environment"]
    active = deployments.get_placement(environment, model).active
    if active is None:
        raise NothingPlaced(f"no version of {model} is live in {environment} any more")
    servers = [one for one in deployments.servers_serving(model, active.number) if one.environment.name == environment]
    if not servers:
        raise NotServedThere(f"no server of {environment} was last seen to serve {active}")
    outputs = _outputs(connecting.connect(servers[0]), active, sample)
    told = {"version": active.number, "server": servers[0].name, "at": timezone.now().isoformat()}
    return told, outputs


def _outputs(backend: ServingBackend, version: Any, sample: Any) -> list[dict[str, Any]]:
    inputs, tolerances = samples.to_tensors(sample.inputs), sample.capture.get("tolerances", {})
    first, again = (
        backend.infer(sample.model.name, version.number, inputs, timeout_s=TIMEOUT_S).outputs for _ in range(2)
    )
    datatypes = {one["name"]: one["datatype"] for one in version.signature.get("outputs", ())}
    expected = [
        {**samples.entry_of(name, datatypes.get(name) or samples.datatype_of(array), array), **tolerances.get(name, {})}
        for name, array in first.items()
    ]
    for entry in expected:
        difference = golden.matches(entry, again[entry["name"]]) if entry["name"] in again else "it is not there again"
        if difference:
            raise AnswersVary(f"{version}: asked twice, {difference}")
    return expected
