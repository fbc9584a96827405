"""The description: valid, whole, and the one that is committed."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiYamlRenderer
from openapi_spec_validator import validate

COMMITTED = Path(__file__).resolve().parents[3] / "docs" / "openapi.yaml"
METHODS = {"get", "post", "put", "patch", "delete"}
STARTING = {
    "/api/v1/models",
    "/api/v1/models/{name}/versions",
    "/api/v1/models/{name}/samples",
    "/api/v1/models/{name}/sample-files",
    "/api/v1/models/{name}/sample-captures",
    "/api/v1/servers",
    "/api/v1/servers/{name}/recheck",
    "/api/v1/servers/{name}/reconcile",
    "/api/v1/rollouts",
    "/api/v1/rollouts/{rollout_id}/abort",
    "/api/v1/rollbacks",
    "/api/v1/placements/{environment}/{name}/hold",
    "/api/v1/placements/{environment}/{name}/unhold",
    "/api/v1/bans/{ban_id}/lift",
    "/api/v1/releases",
    "/api/v1/releases/{release_id}/abort",
    "/api/v1/releases/{release_id}/roll-back",
    "/api/v1/unloads",
    "/api/v1/placements/{environment}/{name}/overlays",
}


@pytest.fixture(scope="module")
def description() -> Any:
    """What the code says of itself."""
    return SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]


def operations(description: Any) -> Iterator[tuple[str, str, Any]]:
    for path, methods in description["paths"].items():
        for method in METHODS & set(methods):
            yield path, method, methods[method]


def views(patterns: list[Any]) -> Iterator[Any]:
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from views(pattern.url_patterns)
        elif isinstance(pattern, URLPattern):
            yield pattern.callback.view_class  # type: ignore[attr-defined]


def test_it_is_valid_openapi_3(description: Any) -> None:
    validate(description)

    assert description["openapi"].startswith("3.")


def test_it_is_the_committed_one(description: Any) -> None:
    made = OpenApiYamlRenderer().render(description, renderer_context={})  # type: ignore[no-untyped-call]

    assert COMMITTED.read_bytes() == made, "run: python manage.py spectacular --file docs/openapi.yaml"


def test_every_method_of_every_view_is_in_it(description: Any) -> None:
    known = {operation["operationId"] for _, _, operation in operations(description)}
    methods = [
        (view.__name__, method)
        for view in set(views(get_resolver("apps.api.v1.urls").url_patterns))
        for method in METHODS
        if hasattr(view, method)
    ]

    assert len(known) == len(methods)


def test_every_operation_says_what_it_is_gives_and_refuses(description: Any) -> None:
    for path, method, operation in operations(description):
        where = f"{method} {path}"
        refusals = {status: answer for status, answer in operation["responses"].items() if status >= "400"}
        assert operation["summary"], where
        assert operation["description"], where
        assert any(status < "300" for status in operation["responses"]), where
        assert {"401", "403", "500", "503"} <= set(refusals), where
        assert all("`" in answer["description"] for answer in refusals.values()), where
        assert all(list(answer["content"]) == ["application/problem+json"] for answer in refusals.values()), where


def test_every_change_with_a_body_says_what_it_takes(description: Any) -> None:
    without = {
        path
        for path, method, operation in operations(description)
        if method in {"post", "put", "patch"} and "requestBody" not in operation
    }

    assert without == {"/api/v1/servers/{name}/recheck", "/api/v1/servers/{name}/reconcile"}


def test_every_post_that_starts_something_takes_an_idempotency_key(description: Any) -> None:
    taking = {
        path
        for path, method, operation in operations(description)
        if "Idempotency-Key" in {parameter["name"] for parameter in operation.get("parameters", [])}
    }

    assert taking >= STARTING


def test_it_is_served_as_yaml_and_json(ci: Client) -> None:
    as_yaml, as_json = ci.get("/api/schema/"), ci.get("/api/schema/?format=json")

    assert as_json.json()["paths"].keys() == yaml.safe_load(as_yaml.content)["paths"].keys()
    assert "/api/v1/rollbacks" in as_json.json()["paths"]
