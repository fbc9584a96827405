"""Requests that somebody makes by hand: asked for here, made by a worker, kept for a week."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from apps.access.services import require
from apps.audit.services import record
from apps.common.actor import Actor
from apps.common.dispatch import wake
from apps.common.due import is_due
from apps.common.errors import ControlPlaneError
from apps.common.keeping import error_document
from apps.common.transitions import try_move
from apps.deployments.errors import NothingToSend, NotServedThere, TrialLost
from apps.deployments.models import Trial
from apps.deployments.selectors.trials import request_entries
from apps.deployments.states import TrialState
from apps.fleet import selectors as fleet
from apps.fleet.models import ObservedVersion
from apps.registry import images
from apps.registry import selectors as registry
from apps.registry.models import Version
from apps.registry.samples import clean_entries

# A message is a hint: one that nobody heeded is sent again after so long.
UNHEEDED = timedelta(seconds=5)
# Longer than any request is waited for: the worker that asked is gone.
LOST = timedelta(seconds=60)
KEEP = timedelta(days=7)


def try_version(
    actor: Actor,
    *,
    server: str,
    model: str,
    version: int,
    inputs: Sequence[Mapping[str, Any]] | None = None,
    sample: str = "",
    image: bytes | None = None,
    image_input: str = "",
) -> Trial:
    """Ask one version on one server; a worker makes the request. NotServedThere when it is not served there.

    Without inputs it is the sample's, and without a sample what the configuration makes. An image takes the place of
    one of them: `image_input` names it where several inputs take one.
    """
    where = fleet.get_server(server)
    require(actor, "try_version", where.environment.name)
    found = registry.get_version(model, version)
    entries = clean_entries(inputs, what="inputs") if inputs is not None else request_entries(found, sample=sample)
    if image is not None:
        entries = _with_image(found, entries, image, into=image_input)
    if not entries:
        raise NothingToSend(f"{found}: a request needs at least one input", field="inputs")
    if not ObservedVersion.objects.filter(server=where, model=model, version=version, state="READY").exists():
        raise NotServedThere(f"{server} was not last seen to serve {found}", field="server")
    with transaction.atomic():
        due_at = timezone.now() + UNHEEDED
        trial = Trial.objects.create(
            model=found.model, version=version, server=where, inputs=entries, created_by=actor.name, due_at=due_at
        )
        record(
            actor,
            "try_version",
            subject_kind="server",
            subject=server,
            environment=where.environment.name,
            model=model,
            version=version,
            trial=trial.pk,
        )
        wake("conch.answer_trial", trial_id=trial.pk)
    return trial


def _with_image(
    version: Version, entries: Sequence[Mapping[str, Any]], image: bytes, *, into: str
) -> list[dict[str, Any]]:
    entry = images.entry_from_image(image, images.image_input(version.signature, name=into))
    others = [dict(one) for one in entries if one["name"] != entry["name"]]
    return [entry, *others]


def begin_trial(trial_id: int, *, now: datetime) -> Trial | None:
    """The trial to ask now; None when another worker has it or it has ended."""
    trial = Trial.objects.select_related("model", "server").filter(pk=trial_id).first()
    if trial is None or not try_move(trial, TrialState.RUNNING, due_at=now + LOST):
        return None
    return trial


def end_trial(trial: Trial, *, answer: Mapping[str, Any] | None, error: ControlPlaneError | None = None) -> None:
    """Keep the answer, or why there is none."""
    now = timezone.now()
    if error is None:
        try_move(trial, TrialState.ANSWERED, answer=dict(answer or {}), finished_at=now)
    else:
        try_move(trial, TrialState.FAILED, error=error_document(error), finished_at=now)


def sweep_trials(now: datetime) -> list[int]:
    """Trials whose message was lost, to wake again; one whose worker was lost ends here."""
    overdue = Trial.objects.filter(is_due("due_at", now))
    for trial in overdue.filter(state=TrialState.RUNNING).select_related("model", "server"):
        end_trial(trial, answer=None, error=TrialLost(f"{trial}: the worker that asked has gone"))
    return list(overdue.filter(state=TrialState.QUEUED).order_by("pk").values_list("pk", flat=True))


def forget_old_trials(now: datetime) -> int:
    """Drop trials older than a week; how many went."""
    return Trial.objects.filter(created_at__lt=now - KEEP).delete()[0]
