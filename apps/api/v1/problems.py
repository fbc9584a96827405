"""What can go wrong, code by code: where a problem's `type` leads."""

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.described import described
from apps.api.doors import ApiView
from apps.api.shapes.common import Shape
from apps.common.errors import ControlPlaneError, NotFound


class ProblemUnknown(NotFound):
    """No error has that code."""

    code = "problem_unknown"
    title = "Unknown problem"


class ProblemKindShape(Shape):
    """One kind of problem."""

    code = serializers.CharField()
    title = serializers.CharField()
    status = serializers.IntegerField()
    retryable = serializers.BooleanField()
    meaning = serializers.CharField()
    hint = serializers.CharField()


def kinds() -> dict[str, type[ControlPlaneError]]:
    """Every error class that is loaded, by code; of a code that several share, the plainest."""
    found: dict[str, type[ControlPlaneError]] = {}
    todo: list[type[ControlPlaneError]] = [ControlPlaneError]
    while todo:
        kind = todo.pop(0)
        found.setdefault(kind.code, kind)
        todo += kind.__subclasses__()
    return dict(sorted(found.items()))


class Problems(ApiView):
    """Every kind of problem."""

    @described("List kinds of problems", gives=ProblemKindShape, is_list=True)
    def get(self, request: Request) -> Response:
        """By code."""
        return Response(self.shape(ProblemKindShape, [_shown(kind) for kind in kinds().values()], many=True))


class Problem(ApiView):
    """One kind of problem."""

    @described("Get a kind of problem", gives=ProblemKindShape, errors=[ProblemUnknown])
    def get(self, request: Request, code: str) -> Response:
        """What its code means, and the way out."""
        kind = kinds().get(code)
        if kind is None:
            raise ProblemUnknown(f"there is no problem {code[:80]!r}")
        return Response(self.shape(ProblemKindShape, _shown(kind)))


def _shown(kind: type[ControlPlaneError]) -> dict[str, Any]:
    return {
        "code": kind.code,
        "title": kind.title,
        "status": kind.http_status,
        "retryable": kind.retryable,
        "meaning": (kind.__doc__ or "").strip(),
        "hint": kind.hint,
    }
