"""Samples: named inputs of a model, with expected outputs if they are golden."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction

from apps.access.services import require
from apps.audit.services import record
from apps.common.actor import CLOCK, Actor
from apps.common.due import is_due
from apps.common.names import check_name
from apps.registry import npz, selectors
from apps.registry.errors import SampleInvalid, SampleMisfit, SampleTaken
from apps.registry.models import Model, Sample
from apps.registry.samples import clean_entries

MAX_SAMPLES = 200
Tolerances = Mapping[str, Mapping[str, Any]]


def add_sample(
    actor: Actor,
    *,
    model: str,
    name: str,
    inputs: Any,
    outputs: Any = (),
    capture: Mapping[str, Any] | None = None,
    capture_due_at: datetime | None = None,
) -> Sample:
    """Keep a sample; `inputs` and `outputs` are lists of {name, datatype, shape, data}, outputs with tolerances.

    It must fit a ready version, if there is one. `capture` asks for the outputs of a version that is live.
    """
    require(actor, "add_sample")
    check_name(name, what="sample")
    owner = selectors.get_model(model)
    cleaned = clean_entries(inputs, what="inputs")
    expected = clean_entries(outputs, what="outputs", are_expected=True)
    if not cleaned:
        raise SampleInvalid("a sample needs at least one input", field="inputs")
    _require_fit(owner, cleaned, expected)
    if selectors.samples(model).count() >= MAX_SAMPLES:
        raise SampleInvalid(f"model {model!r} has {MAX_SAMPLES} samples already", hint="Remove one first.")
    sample = Sample(
        model=owner,
        name=name,
        inputs=cleaned,
        outputs=expected,
        capture=dict(capture or {}),
        capture_due_at=capture_due_at,
        created_by=actor.name,
    )
    _save_new(actor, sample)
    return sample


def add_sample_from_files(
    actor: Actor, *, model: str, name: str, inputs: bytes, outputs: bytes = b"", tolerances: Tolerances | None = None
) -> Sample:
    """Keep a sample whose tensors come as NumPy's .npz; `tolerances` by output."""
    require(actor, "add_sample")
    read = read_files(model, inputs=inputs, outputs=outputs, tolerances=tolerances or {})
    return add_sample(actor, model=model, name=name, inputs=read["inputs"], outputs=read["outputs"])


def read_files(model: str, *, inputs: bytes, outputs: bytes, tolerances: Tolerances) -> dict[str, list[dict[str, Any]]]:
    """`inputs` and `outputs` as entries; the newest ready version tells what a file cannot."""
    newest = selectors.versions(model, state="ready").first()
    signature = newest.signature if newest else {}
    entries = npz.read(inputs, specs=signature.get("inputs", ()), what="inputs") if inputs else []
    expected = npz.read(outputs, specs=signature.get("outputs", ()), what="outputs") if outputs else []
    return {"inputs": entries, "outputs": with_tolerances(expected, tolerances)}


def with_tolerances(outputs: Sequence[Mapping[str, Any]], tolerances: Tolerances) -> list[dict[str, Any]]:
    """Outputs that carry how they are compared; a name that none has is refused."""
    strangers = sorted(set(tolerances) - {str(entry["name"]) for entry in outputs})
    if strangers:
        raise SampleInvalid(f"tolerances: there is no output {strangers[0][:80]!r}", field="tolerances")
    return [{**entry, **tolerances.get(str(entry["name"]), {})} for entry in outputs]


def _require_fit(model: Model, inputs: list[dict[str, Any]], outputs: list[dict[str, Any]]) -> None:
    fits = selectors.fits(model, inputs, outputs)
    if fits and all(fits.values()):
        number, reasons = next(iter(fits.items()))
        more = f" (nor {len(fits) - 1} others)" if len(fits) > 1 else ""
        raise SampleMisfit(f"it does not fit {model} version {number}{more}: {'; '.join(reasons[:3])}", field="inputs")


@transaction.atomic
def _save_new(actor: Actor, sample: Sample) -> None:
    model, name = sample.model.name, sample.name
    try:
        with transaction.atomic():
            sample.save()
    except IntegrityError as error:
        raise SampleTaken(f"model {model!r} has a sample {name!r} already", field="name") from error
    record(
        actor,
        "add_sample",
        subject_kind="sample",
        subject=f"{model}/{name}",
        model=model,
        is_golden=sample.is_golden,
        inputs=[entry["name"] for entry in sample.inputs],
        capture=sample.capture.get("environment", ""),
    )


def claim_capture(sample_id: int, *, now: datetime, until: datetime) -> Sample | None:
    """The sample whose outputs are to be taken now; None when another worker has it or it is done."""
    due = Sample.objects.filter(is_due("capture_due_at", now), pk=sample_id)
    if not due.update(capture_due_at=until):
        return None
    return Sample.objects.select_related("model").get(pk=sample_id)


@transaction.atomic
def end_capture(
    sample: Sample,
    *,
    told: Mapping[str, Any],
    outputs: Sequence[Mapping[str, Any]] = (),
    again_at: datetime | None = None,
) -> None:
    """Keep the outputs, or why there are none; once, whoever was told to take them."""
    mine = Sample.objects.filter(pk=sample.pk, capture_due_at=sample.capture_due_at)
    capture = {**sample.capture, **told}
    if not mine.update(outputs=list(outputs), capture=capture, capture_due_at=again_at) or again_at is not None:
        return
    record(
        CLOCK,
        "capture_golden" if outputs else "capture_failed",
        subject_kind="sample",
        subject=f"{sample.model.name}/{sample.name}",
        model=sample.model.name,
        reason=str(capture.get("error", {}).get("message", "")),
        **{key: value for key, value in told.items() if key in ("version", "server")},
    )


@transaction.atomic
def remove_sample(actor: Actor, *, model: str, name: str) -> None:
    """Forget a sample."""
    require(actor, "remove_sample")
    sample = selectors.get_sample(model, name)
    sample.delete()
    record(actor, "remove_sample", subject_kind="sample", subject=f"{model}/{name}", model=model)
