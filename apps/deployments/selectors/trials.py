"""Requests that somebody made by hand, and where and how one can be made."""

from typing import Any

from django.db.models import QuerySet

from apps.deployments.errors import TrialUnknown
from apps.deployments.models import Trial
from apps.deployments.states import TrialState
from apps.fleet.models import ObservedVersion, Server
from apps.fleet.ordering import BY_ENVIRONMENT
from apps.registry import samples
from apps.registry import selectors as registry
from apps.registry.models import Version
from apps.serving import backends

ENDED = (TrialState.ANSWERED, TrialState.FAILED)


def get_trial(trial_id: int) -> Trial:
    """One trial, or TrialUnknown."""
    found = Trial.objects.select_related("model", "server__environment").filter(pk=trial_id).first()
    if found is None:
        raise TrialUnknown(f"there is no trial {trial_id}")
    return found


def trial_has_ended(trial_id: int) -> bool:
    """Whether its answer, or why there is none, is known."""
    return Trial.objects.filter(pk=trial_id, state__in=ENDED).exists()


def trials(*, model: str, version: int | None = None) -> QuerySet[Trial]:
    """The last requests made by hand to a model, newest first."""
    found = Trial.objects.select_related("model", "server__environment").filter(model__name=model)
    if version is not None:
        found = found.filter(version=version)
    return found.order_by("-created_at", "-pk")


def servers_serving(model: str, version: int) -> list[Server]:
    """Servers last seen to serve that version, by environment and name."""
    ready = ObservedVersion.objects.filter(model=model, version=version, state="READY", server__state="active")
    found = ready.select_related("server__environment")
    return [one.server for one in found.order_by(*(f"server__{column}" for column in BY_ENVIRONMENT))]


def request_entries(version: Version, *, sample: str = "") -> list[dict[str, Any]]:
    """What to send: the sample's inputs, else inputs made from the configuration; empty where none can be made."""
    if sample:
        return list(registry.get_sample(version.model.name, sample).inputs)
    made = backends.get("triton").CONFIG.example_inputs(version.config)
    return [samples.whole_entry(tensor) for tensor in made]
