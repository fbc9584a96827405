"""Trying a version: one request by hand, and its answer."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse

from apps.console.door import Part, Question, actor, ask, live_page
from apps.console.forms.trials import TryForm
from apps.console.shown.trials import trial_page, written
from apps.deployments import selectors as deployments
from apps.deployments import services
from apps.registry import images
from apps.registry import selectors as registry

# More than this is no longer edited by hand: the field stays empty, and it is sent as it is.
MOST_CHARS = 200_000


def try_version(request: HttpRequest, name: str, number: int) -> HttpResponse:
    """Ask for a request: made from the configuration, a sample, a pasted body or an image."""
    version = registry.get_version(name, number)
    sample = request.GET.get("sample", "")
    entries = deployments.request_entries(version, sample=sample)
    servers = deployments.servers_serving(name, number)
    text = written(entries)
    sent = request.method == "POST"
    form = TryForm(
        request.POST if sent else None,
        request.FILES if sent else None,
        initial={"inputs": text if len(text) <= MOST_CHARS else "", "server": request.GET.get("server", "")},
        servers=[(one.name, f"{one.name} ({one.environment.name})") for one in servers],
        images=[one.name for one in images.image_inputs(version.signature)],
    )
    back = reverse("console:version", args=[name, number])
    question = Question(f"Try {name} {number}", "Send one request", back)

    def act(given: Mapping[str, Any]) -> str:
        trial = services.try_version(actor(request), model=name, version=number, sample=sample, **given)
        return reverse("console:trial", args=[trial.pk])

    return ask(
        request,
        question,
        form,
        act,
        section="models",
        template="registry/trial_form.html",
        model=version.model,
        number=number,
        sample=sample,
        servers=servers,
        samples=registry.samples(name).values_list("name", flat=True),
        recent=deployments.trials(model=name, version=number)[:5],
    )


def trial(request: HttpRequest, trial_id: int) -> HttpResponse:
    """One request by hand: the answer, its times, and the same request for other clients."""
    found = deployments.get_trial(trial_id)
    shown = trial_page(found, body_url=reverse("console:trial_body", args=[trial_id]))
    return live_page(
        request,
        "registry/trial_detail.html",
        Part("trial", "registry/_trial.html", shown, is_moving=shown.is_moving, ended=shown.ended),
        section="models",
        trial=found,
    )


def trial_body(_: HttpRequest, trial_id: int) -> HttpResponse:
    """The request's body as a client sends it."""
    found = deployments.get_trial(trial_id)
    answer = JsonResponse({"inputs": found.inputs})
    answer.headers["Content-Disposition"] = 'attachment; filename="request.json"'
    return answer
