"""Models, versions, aliases and samples over REST."""

from typing import Any

import pytest
from django.test import Client

from apps.audit.models import Event
from apps.registry.models import Sample
from tests.apps.api import rows

pytestmark = pytest.mark.django_db
SAMPLE = {
    "name": "seven",
    "inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 4], "data": [1, 2, 3, 4]}],
    "outputs": [{"name": "label", "datatype": "INT64", "shape": [1], "data": [7], "atol": 0}],
}


def send(client: Client, method: str, path: str, body: Any) -> Any:
    return client.generic(method, f"/api/v1/{path}", __import__("json").dumps(body), content_type="application/json")


def test_a_model_is_registered_shown_listed_and_changed(ci: Client) -> None:
    made = send(ci, "POST", "models", {"name": "digits", "owner": "vision", "slo_p99_ms": 60})
    changed = send(ci, "PATCH", "models/digits", {"slo_error_ratio": 0.01})

    shown = ci.get(made["Location"]).json()
    listed = ci.get("/api/v1/models?search=dig&owner=vision").json()["results"]
    assert (made.status_code, changed.status_code) == (201, 200)
    assert (shown["owner"], shown["slo_p99_ms"], shown["slo_error_ratio"]) == ("vision", 60, 0.01)
    assert [model["url"] for model in listed] == [shown["url"]]


def test_a_models_name_cannot_be_changed(ci: Client) -> None:
    rows.model()

    answer = send(ci, "PATCH", "models/digits", {"name": "letters"})

    assert answer.json()["errors"][0]["field"] == "name"


def test_filters_leave_others_out_and_strange_parameters_do_no_harm(ci: Client) -> None:
    rows.model("digits")
    rows.model("letters")

    listed = ci.get("/api/v1/models?search=let&colour=blue").json()["results"]

    assert [model["name"] for model in listed] == ["letters"]


def test_pages_follow_each_other_while_rows_come_in(ci: Client) -> None:
    for name in ("a", "b", "c", "d"):
        rows.model(name)
    first = ci.get("/api/v1/models?limit=2").json()
    rows.model("aa")

    second = ci.get(first["next"]).json()

    assert [model["name"] for model in first["results"]] == ["a", "b"]
    assert [model["name"] for model in second["results"]] == ["c", "d"]
    assert second["next"] is None
    assert [model["name"] for model in ci.get(second["previous"]).json()["results"]] == ["aa", "b"]


def test_a_version_is_shown_with_configuration_and_files(ci: Client) -> None:
    rows.version(3)

    shown = ci.get("/api/v1/models/digits/versions/3").json()

    assert (shown["model"], shown["number"], shown["state"]) == ("digits", 3, "ready")
    assert shown["files"][0]["path"] == "config.pbtxt"
    assert shown["config_text"] == 'name: "digits"'
    assert shown["signature"]["max_batch_size"] == 8


def test_versions_are_listed_newest_first_and_by_state(ci: Client) -> None:
    rows.version(1)
    rows.version(2)
    rows.version(3, state="rejected")

    every = ci.get("/api/v1/models/digits/versions").json()["results"]
    ready = ci.get("/api/v1/models/digits/versions?state=ready").json()["results"]

    assert [version["number"] for version in every] == [3, 2, 1]
    assert [version["number"] for version in ready] == [2, 1]


def test_a_filter_outside_its_choices_is_refused(ci: Client) -> None:
    rows.model()

    answer = ci.get("/api/v1/models/digits/versions?state=asleep")

    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "state")


def test_a_version_is_archived_with_a_reason(ci: Client) -> None:
    rows.version(1)

    answer = send(ci, "POST", "models/digits/versions/1/archive", {"reason": "superseded"})

    assert answer.json()["state"] == "archived"


def test_the_bytes_of_an_archived_version_are_removed_with_a_reason(ci: Client) -> None:
    rows.version(1)

    refused = send(ci, "POST", "models/digits/versions/1/remove-bytes", {"reason": "wrong weights"})
    send(ci, "POST", "models/digits/versions/1/archive", {"reason": "wrong weights"})
    answer = send(ci, "POST", "models/digits/versions/1/remove-bytes", {"reason": "wrong weights"})

    assert (refused.status_code, refused.json()["code"]) == (409, "version_not_archived")
    assert (answer.status_code, answer.json()["state"]) == (202, "removed")


def test_an_alias_is_pointed_and_shown_with_its_model(ci: Client) -> None:
    rows.version(1)
    rows.version(2)
    send(ci, "PUT", "models/digits/aliases/champion", {"version": 1})

    moved = send(ci, "PUT", "models/digits/aliases/champion", {"version": 2}).json()

    assert (moved["model"], moved["name"], moved["version"]) == ("digits", "champion", 2)
    assert ci.get("/api/v1/models/digits").json()["aliases"] == {"champion": 2}


def test_a_sample_is_added_listed_and_removed(ci: Client) -> None:
    rows.model()

    made = send(ci, "POST", "models/digits/samples", SAMPLE)
    listed = ci.get("/api/v1/models/digits/samples").json()["results"]
    removed = ci.delete("/api/v1/models/digits/samples/seven")

    assert made.status_code == 201
    assert made.json()["is_golden"] is True
    assert listed[0]["inputs"] == [{**SAMPLE["inputs"][0]}]  # type: ignore[dict-item]
    assert removed.status_code == 204
    assert not Sample.objects.exists()


def test_two_versions_are_compared_by_meaning(ci: Client) -> None:
    one, other = rows.version(1), rows.version(2)
    one.config, other.config = {"max_batch_size": 8}, {"max_batch_size": 4, "instance_group": [{"count": 2}]}
    other.artifact.files = [{"path": "version/model.py", "size_bytes": 7, "sha256": "f"}]  # type: ignore[union-attr]
    for row in (one, other, other.artifact):
        row.save()  # type: ignore[union-attr]

    told = ci.get("/api/v1/models/digits/versions/1/diff?with=2").json()

    assert told["is_same"] is False
    assert told["config"] == [
        {"path": "instance_group", "before": None, "after": [{"count": 2}], "effect": "no_restart"},
        {"path": "max_batch_size", "before": 8, "after": 4, "effect": "interface"},
    ]
    assert told["files"] == [{"path": "version/model.py", "before_bytes": 3, "after_bytes": 7}]
    assert "-max_batch_size: 8" in told["text"]


def test_a_version_that_was_never_checked_has_nothing_to_compare(ci: Client) -> None:
    rows.version(1)
    unchecked = rows.version(2, state="rejected")
    unchecked.artifact = None
    unchecked.save()

    answer = ci.get("/api/v1/models/digits/versions/1/diff?with=2")

    assert (answer.status_code, answer.json()["code"]) == (409, "version_unchecked")
    assert ci.get("/api/v1/models/digits/versions/1/diff").json()["errors"][0]["field"] == "with"


def test_a_report_tells_what_a_promotion_would_be_refused_for(ci: Client) -> None:
    version = rows.version(1)
    version.config = {"backend": "python", "max_batch_size": 2, "dynamic_batching": {"preferred_batch_size": [4]}}
    version.save()
    rows.server("prod-1")

    told = ci.get("/api/v1/models/digits/versions/1/report?environment=prod").json()
    answer = send(ci, "POST", "rollouts", {"environment": "prod", "model": "digits", "version": 1})

    assert (told["blocks"], told["asks"], told["servers"]) == (True, False, ["prod-1"])
    assert {"rule", "severity", "message", "mend", "field", "server"} == set(told["findings"][0])
    assert (answer.status_code, answer.json()["code"]) == (409, "preflight_failed")
    assert answer.json()["facts"]["findings"][0]["rule"] == told["findings"][0]["rule"]


def test_warnings_are_confirmed(ci: Client) -> None:
    version = rows.version(1)
    version.config = {"backend": "home-made"}
    version.save()
    rows.server("prod-1")
    wanted = {"environment": "prod", "model": "digits", "version": 1}

    asked = send(ci, "POST", "rollouts", wanted)
    confirmed = send(ci, "POST", "rollouts", {**wanted, "confirm": ["warnings"]})

    assert (asked.status_code, asked.json()["code"]) == (409, "preflight_warnings")
    assert confirmed.status_code == 202


def test_a_report_needs_an_environment_and_a_version_that_was_checked(ci: Client) -> None:
    rows.version(1)
    rows.environment()

    without = ci.get("/api/v1/models/digits/versions/1/report")
    unknown = ci.get("/api/v1/models/digits/versions/1/report?environment=nowhere")

    assert (without.status_code, unknown.json()["code"]) == (400, "environment_unknown")


def test_an_alias_is_taken_away_once(ci: Client) -> None:
    rows.version(1)
    ci.put("/api/v1/models/digits/aliases/champion", {"version": 1}, content_type="application/json")

    taken = ci.delete("/api/v1/models/digits/aliases/champion")
    again = ci.delete("/api/v1/models/digits/aliases/champion")

    assert (taken.status_code, taken.json()["aliases"]) == (200, {})
    assert (again.status_code, again.json()["code"]) == (404, "alias_unknown")
    assert Event.objects.filter(verb="remove_alias").count() == 1
