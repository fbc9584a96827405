"""Whatever goes wrong is a problem document with a stable code, and tells no secrets."""

import json
import logging
from typing import Any

import pytest
from django.test import Client

from apps.api.v1.problems import kinds
from tests.apps.api.breaking import SECRET

pytestmark = pytest.mark.django_db
MEMBERS = {"type", "title", "status", "detail", "instance", "code", "hint", "retryable", "errors", "facts"}


def problem(answer: Any, status: int, code: str) -> Any:
    document = answer.json()
    assert answer["Content-Type"] == "application/problem+json"
    assert (answer.status_code, document["status"], document["code"]) == (status, status, code)
    assert set(document) == MEMBERS
    return document


@pytest.mark.parametrize("path", ["/api/v1/nothing", "/api/", "/api/v1/models/", "/api/v1/models/a%00b", "/api/v2/x"])
def test_a_path_that_is_not_there_is_a_problem_not_a_page(path: str, ci: Client) -> None:
    problem(ci.get(path), 404, "not_found")


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("models/none", "model_unknown"),
        ("models/none/versions", "model_unknown"),
        ("models/none/versions/1", "model_unknown"),
        ("models/none/samples", "model_unknown"),
        ("servers/none", "server_unknown"),
        ("environments/none", "environment_unknown"),
        ("placements/none/none", "placement_unknown"),
        ("probes?environment=none&model=none", "placement_unknown"),
        ("rollouts/4711", "rollout_unknown"),
        ("rollouts/4711?wait=5", "rollout_unknown"),
        ("rollouts/9223372036854775807", "rollout_unknown"),
        ("rollouts/9223372036854775808", "not_found"),
        ("tokens/4711", "token_unknown"),
        ("users/none", "user_unknown"),
        ("problems/none", "problem_unknown"),
    ],
)
def test_an_object_that_is_not_there_is_named(path: str, code: str, root: Client) -> None:
    problem(root.get(f"/api/v1/{path}"), 404, code)


def test_a_wrong_method_is_told_the_right_ones(ci: Client) -> None:
    answer = ci.delete("/api/v1/models")

    problem(answer, 405, "method_not_allowed")
    assert "Allow" in answer.json()["hint"]
    assert set(answer["Allow"].split(", ")) >= {"GET", "POST"}


@pytest.mark.parametrize(
    ("body", "media_type", "status", "code"),
    [
        ("{", "application/json", 400, "body_unreadable"),
        ('{"name": NaN}', "application/json", 400, "body_unreadable"),
        ("[1]", "application/json", 400, "fields_invalid"),
        ("[" * 100_000, "application/json", 400, "body_unreadable"),
        ('{"name": "digits", "load_deadline_s": 1e400}', "application/json", 400, "fields_invalid"),
        ('{"name": "digits", "slo_p99_ms": 1e400}', "application/json", 400, "fields_invalid"),
        ('{"name": "digits", "slo_p99_ms": ' + "9" * 5_000 + "}", "application/json", 400, "body_unreadable"),
        ('{"name": "digits", "tags": ["\\u0000"]}', "application/json", 400, "fields_invalid"),
        ('{"name": "digits", "description": "\\ud800"}', "application/json", 400, "fields_invalid"),
        ("a=b", "application/x-www-form-urlencoded", 415, "media_type_unsupported"),
        ("x", "text/plain", 415, "media_type_unsupported"),
    ],
)
def test_a_body_that_cannot_be_read_is_a_problem(
    body: str, media_type: str, status: int, code: str, ci: Client
) -> None:
    problem(ci.post("/api/v1/models", body, content_type=media_type), status, code)


def test_every_faulty_field_is_listed_with_its_path(ci: Client) -> None:
    sample = {"name": "s", "inputs": [{"name": "x", "datatype": "FP32", "shape": ["a"], "data": [1]}], "speed": 1}

    told = problem(
        ci.post("/api/v1/models/digits/samples", {**sample}, content_type="application/json"), 400, "fields_invalid"
    )
    del sample["speed"]
    deeper = problem(
        ci.post("/api/v1/models/digits/samples", sample, content_type="application/json"), 400, "fields_invalid"
    )

    assert told["errors"][0]["message"].startswith("There is no such field. There are: name, inputs")
    assert deeper["errors"] == [{"field": "inputs.0.shape.0", "message": "A valid integer is required."}]


def test_a_null_character_anywhere_in_a_body_is_refused(ci: Client) -> None:
    sample = {"name": "s", "inputs": [{"name": "x", "datatype": "BYTES", "shape": [1], "data": ["a\x00b"]}]}

    answer = ci.post("/api/v1/models/digits/samples", sample, content_type="application/json")

    assert problem(answer, 400, "fields_invalid")["errors"][0]["field"] == "inputs.0.data"


@pytest.mark.parametrize("value", ["1e400", "-1e400", "1e39", '"\\ud800"', "{}", "null", "9" * 400])
def test_a_sample_with_a_value_that_cannot_be_kept_is_refused(value: str, ci: Client) -> None:
    ci.post("/api/v1/models", {"name": "digits"}, content_type="application/json")
    tensor = '{"name": "x", "datatype": "FP32", "shape": [1], "data": [%s]}'
    sample = '{"name": "s", "inputs": [%s]}' % (tensor % value)

    answer = ci.post("/api/v1/models/digits/samples", sample, content_type="application/json")

    assert answer.status_code == 400


@pytest.mark.parametrize(
    "body", ['{"name": "x", "\\ud800": 1}', '{"name": "\\ud800"}', '{"name": "x", "state": "\\ud800"}']
)
def test_half_a_surrogate_is_refused_and_never_sent_back(body: str, ci: Client) -> None:
    answer = ci.post("/api/v1/models", body, content_type="application/json")

    assert problem(answer, 400, answer.json()["code"])["detail"]


def test_a_choice_that_is_half_a_surrogate_is_refused(ci: Client) -> None:
    output = {"name": "y", "datatype": "FP32", "shape": [1], "data": [1], "compare": "\ud800"}

    answer = ci.post(
        "/api/v1/models/digits/samples",
        json.dumps({"name": "s", "inputs": [], "outputs": [output]}),
        content_type="application/json",
    )

    problem(answer, 400, "fields_invalid")


def test_a_body_over_the_limit_is_refused_by_its_length(ci: Client) -> None:
    answer = ci.post("/api/v1/models", "x" * (9 * 2**20), content_type="application/json")

    assert problem(answer, 413, "body_too_large")["facts"]["limit_bytes"] == 8 * 2**20


def test_a_body_without_a_length_is_refused_instead_of_read_as_empty(ci: Client) -> None:
    answer = ci.generic(
        "POST", "/api/v1/models", b"", content_type="application/json", headers={"Transfer-Encoding": "chunked"}
    )

    problem(answer, 411, "length_required")


def test_the_services_own_errors_keep_code_hint_and_field(ci: Client) -> None:
    ci.post("/api/v1/models", {"name": "digits"}, content_type="application/json")

    taken = problem(ci.post("/api/v1/models", {"name": "digits"}, content_type="application/json"), 409, "model_taken")
    bad = problem(ci.post("/api/v1/models", {"name": "../x"}, content_type="application/json"), 400, "bad_name")

    assert "digits" in taken["detail"]
    assert bad["hint"]
    assert bad["errors"][0]["field"] == "name"


def test_a_strange_cursor_is_refused(ci: Client) -> None:
    problem(ci.get("/api/v1/models?cursor=bm9uc2Vuc2U&limit=5"), 400, "cursor_invalid")


def test_an_answer_in_another_format_is_refused(ci: Client) -> None:
    problem(ci.get("/api/v1/models", headers={"Accept": "text/csv"}), 406, "not_acceptable")


@pytest.mark.urls("tests.apps.api.breaking")
def test_a_defect_is_logged_and_not_told(ci: Client, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, "apps.api.errors"):
        answer = ci.get("/api/v1/break/defect")

    problem(answer, 500, "internal_error")
    assert SECRET not in answer.text
    assert "Traceback" not in answer.text
    assert "ZeroDivisionError" in caplog.text


@pytest.mark.urls("tests.apps.api.breaking")
def test_a_database_that_is_away_can_be_asked_again(ci: Client) -> None:
    answer = ci.get("/api/v1/break/database")

    assert problem(answer, 503, "database_unavailable")["retryable"] is True
    assert int(answer["Retry-After"]) > 0
    assert SECRET not in answer.text


@pytest.mark.urls("tests.apps.api.breaking")
def test_a_value_the_database_refuses_is_a_bad_request(ci: Client) -> None:
    answer = ci.get("/api/v1/break/unstorable")

    problem(answer, 400, "value_unstorable")
    assert SECRET not in answer.text


@pytest.mark.urls("tests.apps.api.breaking")
def test_what_django_finds_suspicious_is_a_bad_request(ci: Client) -> None:
    problem(ci.get("/api/v1/break/suspicious"), 400, "body_unreadable")


@pytest.mark.urls("tests.apps.api.breaking")
def test_hostile_words_and_strange_facts_are_made_safe_and_cut(ci: Client) -> None:
    told = problem(ci.get("/api/v1/break/hostile"), 500, "control_plane_error")

    assert "\x1b" not in told["detail"]
    assert len(told["detail"]) < 2_100
    assert len(told["facts"]["long"]) == 100
    assert told["facts"]["nan"] == "nan"
    assert told["facts"]["some"] == [1, 2]
    assert len(json.dumps(told)) < 10_000


def test_a_problems_type_leads_to_its_meaning(ci: Client) -> None:
    told = ci.get("/api/v1/models/none").json()

    meaning = ci.get(told["type"]).json()

    assert (meaning["code"], meaning["status"]) == ("model_unknown", 404)
    assert meaning["meaning"] == "No model has that name."


def test_every_error_class_can_be_told(ci: Client) -> None:
    listed = {kind["code"]: kind for kind in ci.get("/api/v1/problems").json()}

    assert set(listed) == set(kinds())
    assert len(listed) > 60
    assert all(kind["title"] and kind["meaning"] for kind in listed.values())
    assert all(400 <= kind["status"] < 600 for kind in listed.values())
