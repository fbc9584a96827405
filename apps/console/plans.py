"""What a promotion would do, before the button: a page of its own, or a part of the dialog."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from apps.console.door import actor, is_dialog, page
from apps.console.shown.plans import shown_plan
from apps.deployments import services
from apps.fleet import selectors as fleet
from apps.registry import selectors as registry


def plan(request: HttpRequest, name: str) -> HttpResponse:
    """For the environment and version asked for, else for the first of each."""
    environment = request.GET.get("environment") or next((one.name for one in fleet.environments()), "")
    asked = request.GET.get("version", "")
    number = int(asked) if asked.isascii() and asked.isdigit() and len(asked) < _DIGITS else None
    if number is None:
        number = registry.versions(name).filter(state="ready").values_list("number", flat=True).first() or 0
    found = services.plan_promotion(actor(request), environment=environment, model=name, version=number)
    shown = shown_plan(found)
    if is_dialog(request):
        return render(request, "deployments/_plan.html", {"shown": shown})
    return page(request, "deployments/plan_detail.html", section="models", shown=shown)


# A version's number fits into 63 bits.
_DIGITS = 19
