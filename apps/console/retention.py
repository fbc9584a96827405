"""What retention would remove: a dry run to look at."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from apps.console.door import page
from apps.deployments import selectors as deployments

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
