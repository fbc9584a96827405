"""What is answered where no view could answer: REST gets a problem, people get a page."""

import sys

from django.http import HttpRequest, HttpResponse

from apps.api.errors import handle_outside
from apps.console.outage import failed_page


def failed(request: HttpRequest) -> HttpResponse:
    """Django's handler500, called while the exception is handled."""
    error = sys.exception()
    if isinstance(error, Exception) and request.path.startswith("/api/"):
        return handle_outside(request, error)
    return failed_page(request, error)
