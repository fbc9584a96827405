"""What retention would remove: a dry run to look at; and letting go of one version by hand."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from apps.common.text import as_size
from apps.console.door import Question, actor, ask, page
from apps.console.forms.fleet import ReasonForm
from apps.deployments import selectors as deployments
from apps.deployments import services
from apps.registry import selectors as registry

ROWS = 200


def retention(request: HttpRequest) -> HttpResponse:
    """Versions whose bytes would go, those that something holds, and bytes that no version has."""
    asked = request.GET.get("model", "")
    found = deployments.retention(model=asked)
    return page(
        request,
        "registry/retention.html",
        section="models",
        found=found,
        goes=found.goes[:ROWS],
        held=found.held[:ROWS],
        asked=asked,
        default=settings.CONCH["keep_versions"],
        orphans_bytes=sum(size for _, size in found.orphans),
    )


def remove_bytes(request: HttpRequest, name: str, number: int) -> HttpResponse:
    """Let go of an archived version's bytes."""
    version = registry.get_version(name, number)
    services.require_removable(version)
    where = reverse("console:version", args=[name, number])
    form = ReasonForm(request.POST or None)
    question = Question(
        f"Remove the bytes of {name} {number}",
        "Remove its bytes",
        where,
        consequences=(
            "This cannot be undone: it can never be promoted again. Its row, digest and history stay.",
            *_frees(deployments.judge(version)),
        ),
        is_dangerous=True,
    )

    def act(given: Mapping[str, Any]) -> str:
        services.remove_version_bytes(actor(request), model=name, version=number, reason=given["reason"])
        messages.success(request, f"The bytes of {name} {number} are on their way out.")
        return where

    return ask(request, question, form, act, section="models")


def _frees(judged: deployments.Judged) -> Iterator[str]:
    if judged.freed_bytes:
        yield f"It frees {as_size(judged.freed_bytes)} in the artifact store."
    else:
        yield "The artifact store keeps its bytes: another version has the same."
    for repository, size in judged.copies:
        yield f"Its copy in repository {repository} goes too: {as_size(size)}."
