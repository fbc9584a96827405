"""What Prometheus tells beyond charts: cards and slices, kept promises, and what would help."""

from django.urls import path
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.described import described
from apps.api.doors import ApiView, filters
from apps.api.shapes.insight import (
    AdviceQuestion,
    AdvisedShape,
    BudgetsShape,
    DevicesQuestion,
    PictureShape,
    PromisesQuestion,
)
from apps.deployments import selectors as deployments
from apps.fleet import selectors as fleet
from apps.fleet.errors import EnvironmentUnknown, ServerUnknown
from apps.metrics.pictures import picture
from apps.metrics.promises import budgets
from apps.registry import selectors as registry
from apps.registry.errors import ModelUnknown


class Gpus(ApiView):
    """GPUs and their slices."""

    @described("Get the GPUs", gives=PictureShape, filters=DevicesQuestion, errors=[ServerUnknown])
    def get(self, request: Request) -> Response:
        """Every card that dcgm-exporter tells of, with its MIG slices; or those that a server uses."""
        return Response(self.shape(PictureShape, picture(**filters(DevicesQuestion, request), now=timezone.now())))


class Promises(ApiView):
    """SLOs as budgets."""

    @described("Get the error budgets of models", gives=BudgetsShape, filters=PromisesQuestion)
    def get(self, request: Request) -> Response:
        """Of failed requests over 30 days, of time above the p99 over a day: what is left, and how fast it goes."""
        asked = filters(PromisesQuestion, request)
        names = [name for name in asked.pop("models").split(",") if name]
        return Response(self.shape(BudgetsShape, budgets(names, **asked, now=timezone.now())))


class AdviceList(ApiView):
    """What holds models back."""

    @described(
        "Get advice",
        gives=AdvisedShape,
        filters=AdviceQuestion,
        errors=[ServerUnknown, EnvironmentUnknown, ModelUnknown],
    )
    def get(self, request: Request) -> Response:
        """Rules over what Prometheus knows, that name a bottleneck and a change: for a model in an environment, or for
        the models of a server.
        """
        asked = filters(AdviceQuestion, request)
        if asked["server"]:
            asked |= {"environment": fleet.get_server(asked["server"]).environment.name, "model": ""}
        else:
            asked["environment"] = fleet.get_environment(asked["environment"]).name
            asked["model"] = registry.get_model(asked["model"]).name if asked["model"] else ""
        return Response(self.shape(AdvisedShape, deployments.advice(**asked, now=timezone.now())))


urlpatterns = [
    path("gpus", Gpus.as_view(), name="gpus"),
    path("promises", Promises.as_view(), name="promises"),
    path("advice", AdviceList.as_view(), name="advice"),
]
