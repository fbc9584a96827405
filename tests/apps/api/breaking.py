"""Paths that fail in ways no real one should."""

from django.core.exceptions import SuspiciousOperation
from django.db import DataError, OperationalError
from django.urls import include, path
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.doors import ApiView
from apps.common.errors import ControlPlaneError

SECRET = "hunter2"


class Broken(ApiView):
    """Fails as it is told."""

    def get(self, request: Request, how: str) -> Response:
        raise {
            "defect": ZeroDivisionError(SECRET),
            "database": OperationalError(f"could not connect: {SECRET}"),
            "unstorable": DataError(f"numeric out of range: {SECRET}"),
            "suspicious": SuspiciousOperation("strange"),
            "hostile": ControlPlaneError(
                "\x1b[31m<script>" + "x" * 5_000,
                deep={"a": [{"b": {"c": {"d": {"e": {"f": 1}}}}}]},
                many=range(3),
                long=list(range(1_000)),
                nan=float("nan"),
                some={2, 1},
            ),
        }[how]


urlpatterns = [
    path("api/v1/break/<str:how>", Broken.as_view()),
    path("api/", include("apps.api.urls")),
]
