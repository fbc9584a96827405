"""Which pages and lists there are, and how many queries each sends. Runs inside Django."""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import URLPattern, get_resolver, reverse
from django.utils import timezone

from apps.access.models import ApiToken
from apps.deployments.models import Ban, Release, Rollout, Trial
from apps.registry.models import Model, Upload
from bench.crowd import grow
from bench.crowd_sizes import Size

# What a GET does not make a page of, what is meant to grow with what it holds (the export), and what only a version
# or an upload has that waits for somebody (choosing, numbering).
NOT_PAGES = frozenset(
    {"sign_in", "sign_out", "password", "audit_export", "choose", "number_upload", "discard_version", "remove_bytes"}
)
LISTS = frozenset(
    {
        "audit",
        "environments",
        "health",
        "models",
        "placements",
        "probes",
        "problems",
        "prometheus-targets",
        "repositories",
        "rollouts",
        "samples",
        "servers",
        "tokens",
        "trials",
        "users",
        "versions",
    }
)
MODEL = "model-0000"
# What a page or list must be asked for.
QUERY = {
    "advice": f"?environment=prod&model={MODEL}",
    "devices": "?server=server-0",
    "probes": f"?environment=prod&model={MODEL}",
    "promises": f"?model={MODEL}",
    "search": "?q=model",
    "trials": f"?model={MODEL}",
}
HOST = "127.0.0.1"


def survey(size: Size, out: str) -> None:
    """Grow to `size`; write every page's path and queries, a session that may look, and what moves, to `out`."""
    grow(size)
    client = Client(SERVER_NAME=HOST)
    client.force_login(User.objects.get(username="admin"))
    found = {name: {"path": path, "queries": _queries(client, path)} for name, path in _paths()}
    pages = {name: page for name, page in found.items() if page["queries"] is not None}
    told = {"session": client.cookies["sessionid"].value, "pages": pages, "moving": _rollout(is_moving=True)}
    Path(out).write_text(json.dumps(told))


def _paths() -> Iterator[tuple[str, str]]:
    """All of the console, and of the REST API what lists."""
    for path in _patterns("console"):
        if path.name not in NOT_PAGES:
            yield str(path.name), reverse(f"console:{path.name}", kwargs=_words(path)) + QUERY.get(str(path.name), "")
    for path in _patterns("api"):
        if path.name in LISTS:
            address = reverse(f"api:{path.name}", kwargs=_words(path))
            yield f"api_{path.name.replace('-', '_')}", address + QUERY.get(str(path.name), "")


def _patterns(namespace: str) -> list[URLPattern]:
    """Every named path of a namespace, however deep."""
    waiting = [get_resolver().namespace_dict[namespace][1]]
    found: list[URLPattern] = []
    while waiting:
        for pattern in waiting.pop().url_patterns:
            if isinstance(pattern, URLPattern):
                found.append(pattern)
            else:
                waiting.append(pattern)
    return [pattern for pattern in found if pattern.name]


def _words(path: URLPattern) -> dict[str, Any]:
    """What stands in the path's brackets: the busiest model, a server, the newest rollout."""
    name, names = str(path.name), {"servers": "server-0", "environments": "prod"}
    words: dict[str, Any] = {
        "name": names.get(str(path.pattern).partition("/")[0], Model.objects.order_by("pk")[0].name),
        "number": 1 if "promote" in name or "archive" in name else 3,
        "environment": "prod",
        "sample": "s0",
        "rollout_id": _rollout(is_moving=name == "abort"),
        "release_id": Release.objects.order_by("-pk")[0].pk,
        "trial_id": Trial.objects.order_by("-pk")[0].pk,
        "ban_id": Ban.objects.order_by("-pk")[0].pk,
        "key": _upload().key,
        "username": "admin",
        "alias": "champion",
        "token_id": ApiToken.objects.filter(revoked_at=None).order_by("pk")[0].pk,
    }
    return {word: words[word] for word in path.pattern.converters}


def _upload() -> Upload:
    """One of the admin's own that is unfinished."""
    told = {
        "model": Model.objects.order_by("pk")[0],
        "owner": f"user:{User.objects.get(username='admin').pk}",
        "actor": {},
        "size_bytes": 9,
        "expires_at": timezone.now() + timedelta(hours=1),
    }
    return Upload.objects.get_or_create(key="unfinished", defaults=told)[0]


def _rollout(*, is_moving: bool) -> int:
    found = Rollout.objects.filter(state="running" if is_moving else "succeeded").order_by("-pk")
    return found[0].pk


def _queries(client: Client, path: str) -> int | None:
    """Of the second call: the first may fill what is kept. None when a GET makes no page of it."""
    first = client.get(path)
    if first.status_code in (302, 405):
        return None
    with CaptureQueriesContext(connection) as seen:
        answer = client.get(path)
    if answer.status_code != 200:
        raise RuntimeError(f"{path}: {answer.status_code}: {answer.content[:500]!r}")
    return len(seen)
