"""Adding and removing samples."""

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt, csrf_protect

from apps.access import services as access
from apps.console.door import Question, actor, ask
from apps.console.forms.access import ReasonlessForm
from apps.console.forms.samples import SampleForm
from apps.console.shown.samples import sample_line
from apps.console.shown.words import count
from apps.deployments import selectors as deployments
from apps.deployments import services as deployment_services
from apps.registry import selectors as registry
from apps.registry import services
from apps.registry.arriving import ReceivingHandler, announced_bytes
from apps.registry.npz import MAX_FILE_BYTES

# Two files, and room for the other fields of a multipart body.
MOST_BYTES = 2 * MAX_FILE_BYTES
FIELDS_BYTES = 8 * 2**20


@csrf_exempt
def add_sample(request: HttpRequest, name: str) -> HttpResponse:
    """Keep input tensors, and what should come out.

    Checking the form's token reads the whole body, so who may and how much comes before it.
    """
    registry.get_model(name)
    if request.method == "POST":
        access.require(actor(request), "add_sample")
        announced_bytes(request, limit_bytes=MOST_BYTES, fields_bytes=FIELDS_BYTES)
        request.upload_handlers = [ReceivingHandler(request, limit_bytes=MOST_BYTES)]
    return _take_sample(request, name)


@csrf_protect
def _take_sample(request: HttpRequest, name: str) -> HttpResponse:
    live = [one.environment.name for one in deployments.placements(model=name) if one.active_id is not None]
    is_sent = request.method == "POST"
    form = SampleForm(request.POST if is_sent else None, request.FILES if is_sent else None, environments=live)
    question = Question(
        f"Add a sample to {name}",
        "Add sample",
        _page(name),
        intro="Samples warm new versions up. With expected outputs they also decide whether a version is right.",
    )

    def act(given: Mapping[str, Any]) -> str:
        _add(request, name, given)
        return _page(name)

    return ask(request, question, form, act, section="models", template="registry/sample_form.html", model=name)


def _add(request: HttpRequest, model: str, given: Mapping[str, Any]) -> None:
    """From what is live, or as it was given: typed or in files."""
    inputs, outputs = given["inputs"], given["outputs"]
    from_files = (
        services.read_files(
            model, inputs=given["inputs_file"], outputs=given["outputs_file"], tolerances=given["tolerances"]
        )
        if given["inputs_file"] or given["outputs_file"]
        else {"inputs": [], "outputs": []}
    )
    inputs, outputs = inputs or from_files["inputs"], outputs or from_files["outputs"]
    if not given["capture"]:
        made = services.add_sample(actor(request), model=model, name=given["name"], inputs=inputs, outputs=outputs)
        messages.success(request, sample_line(made, registry.fits(made.model, made.inputs, made.outputs)).told)
        return
    deployment_services.capture_golden(
        actor(request),
        environment=given["capture"],
        model=model,
        name=given["name"],
        inputs=inputs or None,
        tolerances=given["tolerances"],
    )
    messages.success(request, f"A worker takes the outputs of {given['name']} from {given['capture']} now.")


def remove_sample(request: HttpRequest, name: str, sample: str) -> HttpResponse:
    """Forget a sample."""
    registry.get_model(name)
    samples = list(registry.samples(name))
    left = sum(one.is_golden for one in samples if one.name != sample)
    question = Question(
        f"Remove sample {sample}",
        f"Remove {sample}",
        _page(name),
        consequences=(f"{count(left, 'golden sample')} of {name} will be left to judge new versions by.",),
        is_dangerous=True,
    )

    def act(_: Mapping[str, Any]) -> str:
        services.remove_sample(actor(request), model=name, name=sample)
        messages.success(request, f"Sample {sample} is removed.")
        return _page(name)

    form = ReasonlessForm(request.POST if request.method == "POST" else None)
    return ask(request, question, form, act, section="models")


def _page(name: str) -> str:
    return reverse("console:model", args=[name])
