"""`Idempotency-Key` on every POST that starts something."""

import hashlib
import json
from collections.abc import Callable
from datetime import timedelta
from functools import wraps
from typing import Any, Protocol, TypeVar, cast

from django.core.files.uploadedfile import UploadedFile
from django.http import QueryDict
from django.utils import timezone
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from apps.access import idempotency
from apps.api.auth import actor_of
from apps.registry.arriving import digest_of

HEADER = "Idempotency-Key"
REPLAYED = "Idempotent-Replayed"
LEASE = timedelta(seconds=60)
View = TypeVar("View", bound=Callable[..., Response])


class Marked(Protocol):
    """A view method that the description shows as repeatable."""

    is_idempotent: bool


def idempotent(lease: timedelta = LEASE) -> Callable[[View], View]:
    """Answer a repeated request with the first one's answer, without doing its work again.

    Only answers of success are kept: a refused request has started nothing and may be corrected under its key.
    `lease` is how long the work may take before another request with the key may take over.
    """

    def wrap(view: View) -> View:
        @wraps(view)
        def answer(self: Any, request: Request, *args: Any, **kwargs: Any) -> Response:
            key = request.headers.get(HEADER)
            if key is None:
                return view(self, request, *args, **kwargs)
            held = idempotency.claim(
                actor_of(request), key=key, fingerprint=_fingerprint(request), lease=lease, now=timezone.now()
            )
            if isinstance(held, idempotency.KeptAnswer):
                return _again(held)
            return _first(held, lambda: view(self, request, *args, **kwargs))

        cast("Marked", answer).is_idempotent = True
        return cast("View", answer)

    return wrap


def request_key(request: Request) -> str:
    """What a row keeps of the request that made it; empty when it cannot be told from others."""
    return idempotency.request_key(actor_of(request), request.headers.get(HEADER, ""))


def _first(held: idempotency.Claim, work: Callable[[], Response]) -> Response:
    try:
        response = work()
    except BaseException:
        idempotency.release(held)
        raise
    body = json.loads(JSONRenderer().render(response.data))
    idempotency.keep(held, status=response.status_code, body=body)
    return response


def _again(kept: idempotency.KeptAnswer) -> Response:
    headers = {REPLAYED: "true"}
    if isinstance(kept.body, dict) and kept.body.get("url"):
        headers["Location"] = str(kept.body["url"])
    return Response(kept.body, status=kept.status, headers=headers)


def _fingerprint(request: Request) -> str:
    told = [request.method, request.path, _told(request.data)]
    return hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()


def _told(body: Any) -> Any:
    if not isinstance(body, QueryDict):
        return body
    return {name: [_value(value) for value in body.getlist(name)] for name in body}


def _value(value: Any) -> Any:
    if isinstance(value, UploadedFile):
        return [value.name, value.size, digest_of(value)]
    return value
