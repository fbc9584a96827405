"""Changing the registry: models, versions, aliases."""

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt, csrf_protect

from apps.access import services as access
from apps.common.text import printable
from apps.console.door import Question, actor, ask
from apps.console.forms.access import ReasonlessForm
from apps.console.forms.registry import AliasForm, ChoiceForm, FetchForm, ModelForm, NumberForm, UploadForm
from apps.registry import selectors as registry
from apps.registry import services
from apps.registry.arriving import ReceivingHandler, announced_bytes, as_upload

VERSIONS = 200


def register_model(request: HttpRequest) -> HttpResponse:
    """Name a model, who owns it and what it promises."""
    form = ModelForm(request.POST or None)
    question = Question("Register a model", "Register model", reverse("console:models"))

    def act(given: Mapping[str, Any]) -> str:
        model = services.register_model(actor(request), name=given["name"], **form.fields_of_model)
        return reverse("console:model", args=[model.name])

    return ask(request, question, form, act, section="models")


def change_model(request: HttpRequest, name: str) -> HttpResponse:
    """Change a model's owner, words and promise."""
    model = registry.get_model(name)
    ratio = model.slo_error_ratio
    initial = {
        "owner": model.owner,
        "description": model.description,
        "tags": ", ".join(map(str, model.tags)),
        "slo_p99_ms": model.slo_p99_ms,
        "slo_error_percent": None if ratio is None else ratio * 100,
        "load_deadline_s": model.load_deadline_s,
        "keep_versions": model.keep_versions,
    }
    form = ModelForm(request.POST or None, is_new=False, initial=initial)
    question = Question(f"Change {name}", "Save", _page(name))

    def act(_: Mapping[str, Any]) -> str:
        services.update_model(actor(request), name=name, **form.fields_of_model)
        return _page(name)

    return ask(request, question, form, act, section="models")


@csrf_exempt
def upload_version(request: HttpRequest, name: str) -> HttpResponse:
    """Take a version's bytes; its page then shows live how it is checked.

    Checking the form's token reads the whole body, so who may upload and how much comes before it.
    """
    registry.get_model(name)
    if request.method == "POST":
        access.require(actor(request), "add_version")
        services.require_room(announced_bytes(request, limit_bytes=services.largest_upload()))
        request.upload_handlers = [ReceivingHandler(request, limit_bytes=services.largest_upload())]
    return _take_version(request, name)


@csrf_protect
def _take_version(request: HttpRequest, name: str) -> HttpResponse:
    model = registry.get_model(name)
    is_sent = request.method == "POST"
    form = UploadForm(request.POST if is_sent else None, request.FILES if is_sent else None)
    question = Question(f"Upload a version of {name}", "Upload", _page(name))

    def act(given: Mapping[str, Any]) -> str:
        version = services.add_version(
            actor(request),
            model=name,
            upload=as_upload(given["file"]),
            number=given["number"],
            git_commit=given["git_commit"],
            notes=given["notes"],
            version_directory=given["version_directory"],
        )
        return reverse("console:version", args=[name, version.number])

    return ask(
        request,
        question,
        form,
        act,
        section="models",
        template="registry/version_form.html",
        model=model,
        upload_url="/api/v1/uploads/",
        version_url=reverse("console:version", args=[name, 0]),
        number_url=reverse("console:number_upload", args=[name, "0"]),
        unfinished=registry.unfinished_uploads(actor(request), model=name),
        next_number=registry.next_number(model),
        limit_bytes=services.upload_limit(actor(request)),
    )


def discard_upload(request: HttpRequest, name: str, key: str) -> HttpResponse:
    """End an unfinished upload."""
    upload = registry.get_upload(actor(request), key)
    filename = printable(str(upload.wanted.get("filename") or "the file"), limit=80)
    question = Question(
        f"Discard the upload of {filename}",
        "Discard it",
        reverse("console:upload", args=[name]),
        consequences=(f"The {upload.received_bytes:,} bytes that came are dropped.",),
        is_dangerous=True,
    )

    def act(_: Mapping[str, Any]) -> str:
        services.discard_upload(actor(request), key)
        messages.success(request, f"The upload of {filename} is discarded.")
        return reverse("console:upload", args=[name])

    form = ReasonlessForm(request.POST if request.method == "POST" else None)
    return ask(request, question, form, act, section="models")


def number_upload(request: HttpRequest, name: str, key: str) -> HttpResponse:
    """Give an upload whose number was taken meanwhile another one."""
    upload = registry.get_upload(actor(request), key)
    services.require_numbering(upload)
    filename = printable(str(upload.wanted.get("filename") or "the file"), limit=80)
    form = NumberForm(request.POST or None, initial={"number": registry.next_number(upload.model)})
    question = Question(
        f"Which number shall {filename} have?",
        "Make it the version",
        reverse("console:upload", args=[name]),
        intro=f"{name} has a version {upload.wanted['number']} by now. The bytes were kept: nothing is sent again.",
    )

    def act(given: Mapping[str, Any]) -> str:
        version = services.number_upload(actor(request), key, number=given["number"])
        return reverse("console:version", args=[name, version.number])

    return ask(request, question, form, act, section="models")


def fetch_version(request: HttpRequest, name: str) -> HttpResponse:
    """Have a worker take a version's bytes from where they lie; its page then shows live how far it is."""
    model = registry.get_model(name)
    form = FetchForm(request.POST or None)
    question = Question(
        f"Fetch a version of {name}",
        "Fetch",
        _page(name),
        intro="A worker takes the bytes from there. Nothing is loaded anywhere by fetching.",
    )

    def act(given: Mapping[str, Any]) -> str:
        wanted = services.Wanted(
            given["number"], given["git_commit"], given["notes"], version_directory=given["version_directory"]
        )
        version = services.add_version_from(
            actor(request), model=name, source=given["source"], sha256=given["sha256"], wanted=wanted
        )
        return reverse("console:version", args=[name, version.number])

    return ask(request, question, form, act, section="models", model=model)


def choose_version(request: HttpRequest, name: str, number: int) -> HttpResponse:
    """Say which of the versions in an upload is meant; no byte is sent again."""
    version = registry.get_version(name, number)
    services.require_choosing(version)
    form = ChoiceForm(request.POST or None, choices=reversed(version.choices))
    where = reverse("console:version", args=[name, number])
    question = Question(
        f"Which version is {name} {number}?",
        "Choose it",
        where,
        intro=f"The archive holds {len(version.choices)}. The others are left out; nothing is sent again.",
    )

    def act(given: Mapping[str, Any]) -> str:
        services.choose_version(actor(request), model=name, number=number, **given)
        return where

    return ask(request, question, form, act, section="models")


def discard_version(request: HttpRequest, name: str, number: int) -> HttpResponse:
    """Give up a version that is still fetched, or waits for a choice."""
    version = registry.get_version(name, number)
    services.require_discardable(version)
    where = reverse("console:version", args=[name, number])
    question = Question(
        f"Discard {name} {number}",
        "Discard it",
        where,
        consequences=("Its bytes are dropped, and its number is free again.",),
        is_dangerous=True,
    )

    def act(_: Mapping[str, Any]) -> str:
        services.discard_version(actor(request), model=name, number=number)
        messages.success(request, f"{name} {number} is discarded.")
        return where

    form = ReasonlessForm(request.POST if request.method == "POST" else None)
    return ask(request, question, form, act, section="models")


def point_alias(request: HttpRequest, name: str) -> HttpResponse:
    """Point a name at a version."""
    registry.get_model(name)
    numbers = registry.versions(name).filter(state="ready").values_list("number", flat=True)[:VERSIONS]
    initial = {"alias": request.GET.get("alias", "")}
    form = AliasForm(request.POST or None, versions=numbers, initial=initial)
    question = Question(
        f"Point an alias of {name}", "Point alias", _page(name), intro="An alias changes nothing on any server."
    )

    def act(given: Mapping[str, Any]) -> str:
        services.point_alias(actor(request), model=name, alias=given["alias"], version=given["version"])
        return _page(name)

    return ask(request, question, form, act, section="models")


def remove_alias(request: HttpRequest, name: str, alias: str) -> HttpResponse:
    """Take a name away."""
    pointed = registry.get_alias(name, alias)
    question = Question(
        f"Take the alias {alias} of {name} away",
        f"Take {alias} away",
        _page(name),
        consequences=(
            f"{alias} is version {pointed.version.number} now; whoever looks it up finds nothing from then on.",
        ),
        is_dangerous=True,
    )

    def act(_: Mapping[str, Any]) -> str:
        services.remove_alias(actor(request), model=name, alias=alias)
        return _page(name)

    form = ReasonlessForm(request.POST if request.method == "POST" else None)
    return ask(request, question, form, act, section="models")


def _page(name: str) -> str:
    return reverse("console:model", args=[name])
