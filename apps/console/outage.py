"""The page where no view could answer: PostgreSQL is away, or Conch has a defect."""

from http import HTTPStatus

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.views.defaults import server_error

AGAIN_S = 5


def failed_page(request: HttpRequest, error: BaseException | None) -> HttpResponse:
    """It needs no database and nobody signed in."""
    if not isinstance(error, OperationalError | InterfaceError):
        return server_error(request)
    # A page that was only looked at is asked for again by itself; what was sent is nobody's to send twice.
    shown = {"again_s": AGAIN_S if request.method in ("GET", "HEAD") else None}
    answer = HttpResponse(render_to_string("503.html", shown), status=HTTPStatus.SERVICE_UNAVAILABLE)
    answer.headers["Retry-After"] = str(AGAIN_S)
    return answer
