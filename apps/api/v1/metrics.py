"""Charts: the list of them, and each with its figure as it is now."""

import hashlib
import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.urls import path
from django.utils import timezone
from django.utils.http import parse_etags
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.described import described
from apps.api.doors import ApiView, filters
from apps.api.shapes.metrics import ChartAnswerShape, ChartQuestion, ChartShape, ChartsShape
from apps.deployments import selectors as deployments
from apps.fleet import selectors as fleet
from apps.fleet.errors import ServerUnknown
from apps.metrics import selectors as metrics
from apps.metrics.catalogue import CHARTS
from apps.metrics.errors import ChartUnknown
from apps.metrics.figures import Mark


class ChartList(ApiView):
    """The charts there are."""

    @described("List the charts", gives=ChartsShape)
    def get(self, request: Request) -> Response:
        """Every chart of the catalogue, in the order pages show them."""
        return Response({"results": self.shape(ChartShape, list(CHARTS.values()), many=True)})


class ChartDetail(ApiView):
    """One chart."""

    @described(
        "Get a chart as it is now",
        gives=ChartAnswerShape,
        filters=ChartQuestion,
        errors=[ChartUnknown, ServerUnknown],
    )
    def get(self, request: Request, key: str) -> Response:
        """A Plotly figure and what to know about it; 304 when nothing changed since the ETag sent along."""
        asked = filters(ChartQuestion, request)
        now = timezone.now()
        answer = metrics.chart(key, **asked, now=now, marks=_marks(asked, until=now))
        return _unless_known(request, self.shape(ChartAnswerShape, answer))


def _marks(asked: dict[str, Any], *, until: datetime) -> Sequence[Mark]:
    """What happened to the model, or in the server's environment, in the time that is shown."""
    environment = asked["environment"]
    if asked["server"] and not environment:
        environment = fleet.get_server(asked["server"]).environment.name
    since = until - timedelta(seconds=asked["range_s"])
    return deployments.marks(environment=environment, model=asked["model"], since=since, until=until)


def _unless_known(request: Request, document: dict[str, Any]) -> Response:
    """The document, or 304 where the client has all of it but the time it was made."""
    content = {name: value for name, value in document.items() if name != "updated"}
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    tag = f'W/"{digest[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "private, no-cache"}
    if tag in parse_etags(request.headers.get("If-None-Match", "")):
        return Response(status=304, headers=headers)
    return Response(document, headers=headers)


urlpatterns = [
    path("charts", ChartList.as_view(), name="charts"),
    path("charts/<str:key>", ChartDetail.as_view(), name="chart"),
]
