"""What a promotion would do, before the button: a page of its own, or a part of the dialog."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from apps.common.errors import ControlPlaneError
from apps.common.text import SHOWN_CHARS, printable, whole_number
from apps.console.door import actor, is_dialog, page
from apps.console.forms.releases import ReleaseForm
from apps.console.shown.plans import ShownPlan, shown_plan
from apps.deployments import services
from apps.fleet import selectors as fleet
from apps.registry import selectors as registry


def plan(request: HttpRequest, name: str) -> HttpResponse:
    """For the environment and version asked for, else for the first of each."""
    environment = request.GET.get("environment") or next((one.name for one in fleet.environments()), "")
    number = whole_number(request.GET.get("version", ""))
    if number is None:
        number = registry.versions(name).filter(state="ready").values_list("number", flat=True).first() or 0
    found = services.plan_promotion(actor(request), environment=environment, model=name, version=number)
    shown = shown_plan(found, told=_told(request))
    if is_dialog(request):
        return render(request, "deployments/_plan.html", {"shown": shown})
    return page(request, "deployments/plan_detail.html", section="models", shown=shown)


def plan_release(request: HttpRequest) -> HttpResponse:
    """For the lines that are written so far; what is no release yet is asked for."""
    form = ReleaseForm(request.GET or None, environments=[one.name for one in fleet.environments()])
    shown: tuple[ShownPlan, ...] = ()
    refusal = ""
    if form.is_valid():
        given = form.cleaned_data
        try:
            found = services.plan_release(actor(request), environment=given["environment"], items=given["items"])
            shown = tuple(shown_plan(item, told=_told(request)) for item in found.items)
        except ControlPlaneError as error:
            refusal = printable(error.message, limit=SHOWN_CHARS)
    if is_dialog(request):
        return render(request, "deployments/_release_plan.html", {"shown": shown, "refusal": refusal})
    return page(request, "deployments/release_plan.html", section="rollouts", shown=shown, refusal=refusal)


def _told(request: HttpRequest) -> str:
    """The refusal that stands above the plan in a dialog."""
    return request.GET.get("told", "") if is_dialog(request) else ""
