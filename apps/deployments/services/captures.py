"""Golden answers taken from the version that is live: asked for here, taken by a worker."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.utils import timezone

from apps.access.services import require
from apps.common.actor import Actor
from apps.common.dispatch import wake
from apps.deployments.errors import NothingPlaced, NothingToSend
from apps.deployments.selectors.placements import get_placement
from apps.deployments.selectors.trials import request_entries
from apps.registry import services as registry
from apps.registry.models import Sample
from apps.registry.samples import clean_tolerances
from apps.serving import backends

CAPTURE = "conch.capture_golden"


def capture_golden(
    actor: Actor,
    *,
    environment: str,
    model: str,
    name: str,
    inputs: Any = None,
    tolerances: Mapping[str, Mapping[str, Any]] | None = None,
) -> Sample:
    """A sample whose expected outputs a worker takes from the version live in `environment`.

    Without inputs they are made from that version's configuration. `tolerances` by output.
    """
    require(actor, "add_sample")
    placement = get_placement(environment, model)
    if placement.active is None:
        raise NothingPlaced(f"no version of {model} is live in {environment}")
    reason = backends.get("triton").CONFIG.cannot_ask(placement.active.config)
    entries = inputs if inputs is not None else request_entries(placement.active)
    if reason or not entries:
        raise NothingToSend(f"{placement.active}: {reason or 'no inputs can be made from its configuration'}")
    wanted = _clean_tolerances(placement.active.signature, tolerances or {})
    with transaction.atomic():
        sample = registry.add_sample(
            actor,
            model=model,
            name=name,
            inputs=entries,
            capture={"environment": environment, "tolerances": wanted},
            capture_due_at=timezone.now(),
        )
        wake(CAPTURE, sample_id=sample.pk)
    return sample


def _clean_tolerances(
    signature: Mapping[str, Any], tolerances: Mapping[str, Mapping[str, Any]]
) -> dict[str, dict[str, Any]]:
    datatypes = {str(spec["name"]): str(spec["datatype"]) for spec in signature.get("outputs", ())}
    registry.with_tolerances(
        [{"name": name} for name in datatypes] if datatypes else [{"name": n} for n in tolerances], tolerances
    )
    return {
        name: clean_tolerances(wanted, datatypes.get(name, "FP32"), f"tolerances.{name}")
        for name, wanted in tolerances.items()
    }
