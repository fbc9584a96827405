"""Parts of pages that Prometheus fills: asked for after the page is there, so that no page waits for it."""

from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from apps.console.door import Part, live_part, page
from apps.console.ranges import board, chosen_range
from apps.console.shown import insight
from apps.deployments import selectors as deployments
from apps.fleet import selectors as fleet
from apps.metrics.catalogue import Page
from apps.metrics.pictures import picture
from apps.metrics.promises import budgets
from apps.registry import selectors as registry

EVERY_S = 15


def gpus(request: HttpRequest) -> HttpResponse:
    """Every card that Prometheus knows, with its slices; charts of all of them."""
    context = {"board": board(Page.GPU, request), **chosen_range(request)}
    return page(request, "metrics/gpu_list.html", section="servers", status=200, **context)


def devices(request: HttpRequest) -> HttpResponse:
    """The cards of a server, or all there are."""
    server = request.GET.get("server", "")
    shown = insight.devices(picture(server=server, now=timezone.now()))
    template = "metrics/_server_devices.html" if server else "metrics/_devices.html"
    return live_part(request, Part("devices", template, shown, is_moving=False), every_s=EVERY_S)


def promises(request: HttpRequest) -> HttpResponse:
    """How one model keeps its promises, wherever it is asked."""
    model = registry.get_model(request.GET.get("model", ""))
    found = budgets([model.name], now=timezone.now())
    shown = (tuple(insight.promise(one) for one in found.budgets), found.problem)
    return live_part(request, Part("promises", "metrics/_promises.html", shown, is_moving=False), every_s=60)


def advice(request: HttpRequest) -> HttpResponse:
    """What would help a model in an environment, or a server."""
    server, environment = request.GET.get("server", ""), request.GET.get("environment", "")
    if server:
        environment = fleet.get_server(server).environment.name
    model = "" if server else registry.get_model(request.GET.get("model", "")).name
    found = deployments.advice(environment=environment, model=model, server=server, now=timezone.now())
    part = Part("advice", "metrics/_advice.html", insight.advised(found), is_moving=False)
    return live_part(request, part, every_s=60)
