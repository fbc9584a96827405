"""Samples: named inputs of a model, with expected outputs if they are golden."""

from typing import Any

from django.db import IntegrityError, transaction

from apps.access.services import require
from apps.audit.services import record
from apps.common.actor import Actor
from apps.common.names import check_name
from apps.registry import selectors
from apps.registry.errors import SampleInvalid, SampleTaken
from apps.registry.models import Sample
from apps.registry.samples import clean_entries

MAX_SAMPLES = 200


@transaction.atomic
def add_sample(actor: Actor, *, model: str, name: str, inputs: Any, outputs: Any = ()) -> Sample:
    """Keep a sample; `inputs` and `outputs` are lists of {name, datatype, shape, data}, outputs with tolerances."""
    require(actor, "add_sample")
    check_name(name, what="sample")
    owner = selectors.get_model(model)
    cleaned = clean_entries(inputs, what="inputs")
    expected = clean_entries(outputs, what="outputs", are_expected=True)
    if not cleaned:
        raise SampleInvalid("a sample needs at least one input", field="inputs")
    if selectors.samples(model).count() >= MAX_SAMPLES:
        raise SampleInvalid(f"model {model!r} has {MAX_SAMPLES} samples already", hint="Remove one first.")
    try:
        with transaction.atomic():
            sample = Sample.objects.create(
                model=owner, name=name, inputs=cleaned, outputs=expected, created_by=actor.name
            )
    except IntegrityError as error:
        raise SampleTaken(f"model {model!r} has a sample {name!r} already", field="name") from error
    record(
        actor,
        "add_sample",
        subject_kind="sample",
        subject=f"{model}/{name}",
        model=model,
        is_golden=sample.is_golden,
        inputs=[entry["name"] for entry in cleaned],
    )
    return sample


@transaction.atomic
def remove_sample(actor: Actor, *, model: str, name: str) -> None:
    """Forget a sample."""
    require(actor, "remove_sample")
    sample = selectors.get_sample(model, name)
    sample.delete()
    record(actor, "remove_sample", subject_kind="sample", subject=f"{model}/{name}", model=model)
