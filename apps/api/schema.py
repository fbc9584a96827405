"""The API's description: OpenAPI 3 for programs, a page for people, and an answer for paths that are not there."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.csrf import ensure_csrf_cookie
from drf_spectacular.renderers import OpenApiJsonRenderer, OpenApiYamlRenderer
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.doors import ApiView
from apps.common.errors import NotFound


class Schema(ApiView, SpectacularAPIView):
    """OpenAPI 3 as YAML, or as JSON with `?format=json`."""

    renderer_classes = [OpenApiYamlRenderer, OpenApiJsonRenderer]

    @extend_schema(exclude=True)
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """The whole description."""
        answer: Response = super().get(request, *args, **kwargs)  # type: ignore[no-untyped-call]
        return answer


class Nowhere(ApiView):
    """Every other path: a problem document instead of a page."""

    schema = None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Who asks does not matter."""
        raise NotFound(f"there is nothing at {request.path[:200]}", hint="The paths are listed at /api/docs/.")


@ensure_csrf_cookie
def docs(request: HttpRequest) -> HttpResponse:
    """The description as a page that can try requests out, with the session of whoever reads it."""
    return render(request, "api/docs.html")
