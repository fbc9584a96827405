"""Charts: the list of them, each with its figure as it is now, all of a page at once, and the fleet's figures."""

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
from django.http import HttpResponse
from django.urls import path
from django.utils import timezone
from django.utils.http import parse_etags
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.described import described
from apps.api.doors import ApiView, filters
from apps.api.shapes.metrics import (
    BoardQuestion,
    BoardShape,
    ChartAnswerShape,
    ChartQuestion,
    ChartShape,
    ChartsShape,
    FleetNumbersShape,
    NumbersQuestion,
)
from apps.deployments import selectors as deployments
from apps.deployments.errors import RolloutUnknown
from apps.fleet import selectors as fleet
from apps.fleet.errors import ServerUnknown
from apps.metrics import selectors as metrics
from apps.metrics.catalogue import CHARTS, Page, charts_on
from apps.metrics.errors import BadRange, ChartUnknown, PageUnknown
from apps.metrics.marks import Mark
from apps.metrics.numbers import numbers
from apps.metrics.questions import Question, scrape_interval_s, window_of
from apps.metrics.selectors import ChartAnswer
from apps.metrics.spreadsheet import as_csv
from apps.metrics.tail import shape_of, tail, tail_from
from apps.metrics.windows import Window

_REFUSED = [ChartUnknown, ServerUnknown, RolloutUnknown, BadRange]


class ChartList(ApiView):
    """The charts there are."""

    @described("List the charts", gives=ChartsShape)
    def get(self, request: Request) -> Response:
        """Every chart of the catalogue, in the order pages show them."""
        return Response({"results": self.shape(ChartShape, list(CHARTS.values()), many=True)})


class ChartDetail(ApiView):
    """One chart."""

    @described("Get a chart as it is now", gives=ChartAnswerShape, filters=ChartQuestion, errors=_REFUSED)
    def get(self, request: Request, key: str) -> HttpResponse:
        """A Plotly figure and what to know about it; 304 when nothing changed since the ETag sent along."""
        answer = _answers([metrics.get_chart(key)], filters(ChartQuestion, request))[0]
        return _unless_known(request, self.shape(ChartAnswerShape, answer))


class ChartCsv(ApiView):
    """One chart for a spreadsheet."""

    @described("Get a chart as CSV", gives=None, gives_text="text/csv", filters=ChartQuestion, errors=_REFUSED)
    def get(self, request: Request, key: str) -> HttpResponse:
        """One row for each moment (UTC), one column for each line; a gap is an empty cell."""
        answer = _answers([metrics.get_chart(key)], filters(ChartQuestion, request))[0]
        text = as_csv(answer.lines, answer.window, unit=answer.chart.unit)
        headers = {"Content-Disposition": f'attachment; filename="{key}-{answer.window.end_s}.csv"'}
        return HttpResponse(text, content_type="text/csv; charset=utf-8", headers=headers)


class Board(ApiView):
    """All charts of a page at once."""

    @described("Get a page of charts", gives=BoardShape, filters=BoardQuestion, errors=[*_REFUSED, PageUnknown])
    def get(self, request: Request, page: str) -> HttpResponse:
        """Prometheus is asked for all of them at the same time. With the `since_s` and `shape` of the last answer, only
        what is new since comes back where that suffices (`from_s` is set then); 304 when nothing changed.
        """
        if page not in set(Page):
            raise PageUnknown(f"there is no page of charts {page[:80]!r}; there are: {', '.join(Page)}")
        asked = filters(BoardQuestion, request)
        since_s, shape = asked.pop("since_s"), asked.pop("shape")
        found = _answers(list(charts_on(Page(page))), asked)
        document = _document(found, since_s=since_s, shape=shape)
        document["charts"] = self.shape(ChartAnswerShape, document["charts"], many=True)
        return _unless_known(request, self.shape(BoardShape, document))


class FleetFigures(ApiView):
    """Each model's figures in few numbers."""

    @described("Get the figures of models", gives=FleetNumbersShape, filters=NumbersQuestion, errors=[BadRange])
    def get(self, request: Request) -> HttpResponse:
        """Requests, worst p99 and error ratio of each model named, now and over the time asked for."""
        asked = filters(NumbersQuestion, request)
        names = [name for name in dict.fromkeys(asked.pop("models").split(",")) if name]
        return _unless_known(request, self.shape(FleetNumbersShape, numbers(names, **asked, now=timezone.now())))


def _answers(charts: list[Any], asked: dict[str, Any]) -> list[ChartAnswer]:
    now = timezone.now()
    rollout_id = asked.pop("rollout")
    rollout = deployments.get_rollout(rollout_id) if rollout_id else None
    question = _question(asked) if rollout is None else deployments.question_of(rollout, now=now)
    limits = None if rollout is None else deployments.limits_of(rollout)
    return metrics.board(charts, question, now=now, marks=_marks(question, window_of(question, now=now)), limits=limits)


def _question(asked: dict[str, Any]) -> Question:
    versions = tuple(part.strip() for part in asked.pop("versions").split(",") if part.strip())
    return Question(versions=versions, is_per_server=asked.pop("per_server"), **asked)


def _marks(question: Question, window: Window) -> Iterator[Mark]:
    """What happened to the model, or in the server's environment, in the time that is shown; read when it is drawn."""
    environment = question.environment
    if question.server and not environment:
        environment = fleet.get_server(question.server).environment.name
    until = datetime.fromtimestamp(window.end_s, tz=UTC)
    since = until - timedelta(seconds=question.range_s)
    yield from deployments.marks(
        environment=environment, model=question.model, server=question.server, since=since, until=until
    )


def _document(found: list[ChartAnswer], *, since_s: int | None, shape: str) -> dict[str, Any]:
    """The board as it goes over the wire: whole, or what is new since."""
    window = found[0].window
    figures = [one.figure for one in found]
    now_shape = shape_of(figures, window)
    from_s = None
    if since_s is not None and shape == now_shape:
        from_s = tail_from(window, since_s=since_s, scrape_interval_s=scrape_interval_s())
    charts = [_chart(one, from_s=from_s) for one in found]
    return {"window": window, "shape": now_shape, "from_s": from_s, "charts": charts, "updated": found[0].updated}


def _chart(answer: ChartAnswer, *, from_s: int | None) -> dict[str, Any]:
    known = {name: getattr(answer, name) for name in ("chart", "state", "message", "latest", "queries", "updated")}
    if answer.figure is None or from_s is None:
        return {**known, "figure": answer.figure}
    return {**known, "queries": (), "figure": tail(answer.figure, answer.window, from_s=from_s)}


def _unless_known(request: Request, document: dict[str, Any]) -> HttpResponse:
    """The document, or 304 where the client has all of it but the time it was made. Written once: it is large."""
    content = told = orjson.dumps(document)
    for moment in {document.get("updated"), *(one.get("updated") for one in document.get("charts", ()))} - {None}:
        told = told.replace(str(moment).encode(), b"")
    tag = f'W/"{hashlib.sha256(told).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "private, no-cache"}
    if tag in parse_etags(request.headers.get("If-None-Match", "")):
        return HttpResponse(status=304, headers=headers)
    return HttpResponse(content, content_type="application/json", headers=headers)


urlpatterns = [
    path("charts", ChartList.as_view(), name="charts"),
    path("charts/<str:key>", ChartDetail.as_view(), name="chart"),
    path("charts/<str:key>/csv", ChartCsv.as_view(), name="chart-csv"),
    path("boards/<str:page>", Board.as_view(), name="board"),
    path("figures", FleetFigures.as_view(), name="figures"),
]
