"""Environments, repositories, servers, service discovery and health over REST."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from apps.api.discovery import own_labels
from apps.fleet.models import ObservedVersion, Part, Server
from apps.fleet.selectors import PARTS
from apps.fleet.states import ServerState
from tests.apps.api import rows

pytestmark = pytest.mark.django_db


def send(client: Client, method: str, path: str, body: Any) -> Any:
    return client.generic(method, f"/api/v1/{path}", json.dumps(body), content_type="application/json")


def test_an_environment_a_repository_and_a_server_are_added(root: Client, tmp_path: Path) -> None:
    environment = send(root, "POST", "environments", {"name": "prod", "rank": 2})
    repository = send(
        root, "POST", "repositories", {"name": "main", "environment": "prod", "path": str(tmp_path), "kind": "posix"}
    )
    server = send(
        root,
        "POST",
        "servers",
        {
            "name": "t1",
            "environment": "prod",
            "repository": "main",
            "grpc": "127.0.0.1:20001",
            "http": "127.0.0.1:20000",
            "metrics": "127.0.0.1:20002",
            "control_key": "triton-admin",
            "control_value": "hunter2",
        },
    )

    assert (environment.status_code, repository.status_code, server.status_code) == (201, 201, 202)
    assert (server.json()["state"], server.json()["observation"]) == ("checking", None)
    assert root.get(server["Location"]).json()["control_key"] == "triton-admin"
    assert "hunter2" not in root.get(server["Location"]).text + server.text + root.get("/api/v1/audit").text


def test_a_repository_may_be_no_place_at_all(root: Client) -> None:
    rows.environment()

    added = send(root, "POST", "repositories", {"name": "edge", "environment": "prod", "kind": "inline"})
    unknown = send(root, "POST", "repositories", {"name": "nfs", "environment": "prod", "kind": "nfs"})

    assert (added.status_code, added.json()["kind"], added.json()["path"]) == (201, "inline", "inline:edge")
    assert (unknown.status_code, unknown.json()["code"]) == (400, "repository_kind_unknown")


def test_a_repository_may_be_in_a_bucket_with_settings_of_its_own(root: Client, tmp_path: Path) -> None:
    rows.environment()
    asked = {"environment": "prod", "endpoint_url": "https://minio:9000"}

    added = send(root, "POST", "repositories", asked | {"name": "eu", "kind": "s3", "path": "s3://models/eu/"})
    wrong = send(root, "POST", "repositories", asked | {"name": "disk", "path": str(tmp_path)})

    assert (added.status_code, added.json()["path"]) == (201, "s3://models/eu")
    assert added.json()["settings"] == {"endpoint_url": "https://minio:9000"}
    assert (wrong.status_code, wrong.json()["code"]) == (400, "bad_path")


def test_an_environments_policy_is_changed_in_part(root: Client) -> None:
    rows.environment()

    changed = send(root, "PATCH", "environments/prod", {"standby_window_s": 60}).json()

    assert (changed["standby_window_s"], changed["progress_deadline_s"]) == (60, 600)


def test_a_server_is_shown_with_what_it_serves_and_its_drift(ci: Client) -> None:
    server = rows.server("t1")
    version = rows.version(1)
    rows.placement(active=version)
    ObservedVersion.objects.create(server=server, model="digits", version=2, state="READY", since=timezone.now())

    shown = ci.get("/api/v1/servers/t1").json()

    assert [(seen["model"], seen["version"]) for seen in shown["versions"]] == [("digits", 2)]
    assert {(drift["model"], drift["version"]) for drift in shown["drift"]} == {("digits", 1), ("digits", 2)}
    assert shown["observation"]["is_reachable"] is True


def test_servers_are_filtered_by_environment_and_state(ci: Client) -> None:
    rows.server("t1")
    rows.server("t2", where="staging")
    rows.server("t3", state=ServerState.REFUSED)

    listed = ci.get("/api/v1/servers?environment=prod&state=active").json()["results"]

    assert [server["name"] for server in listed] == ["t1"]


def test_a_server_is_cordoned_uncordoned_and_retired_with_a_reason(root: Client) -> None:
    rows.server("t1")

    cordoned = send(root, "POST", "servers/t1/cordon", {"reason": "new disk"}).json()
    uncordoned = send(root, "POST", "servers/t1/uncordon", {"reason": "done"}).json()
    retired = send(root, "POST", "servers/t1/retire", {"reason": "old"}).json()

    assert (cordoned["cordon_reason"], uncordoned["cordoned_at"], retired["state"]) == ("new disk", None, "retired")


def test_a_refused_server_is_checked_again(ci: Client) -> None:
    rows.server("t1", state=ServerState.REFUSED)

    answer = send(ci, "POST", "servers/t1/recheck", {})

    assert (answer.status_code, answer.json()["state"]) == (202, "checking")


def test_a_servers_addresses_are_changed_but_not_the_one_that_makes_it(root: Client) -> None:
    rows.server("t1")

    changed = send(root, "PATCH", "servers/t1", {"metrics": "127.0.0.1:9"})
    refused = send(root, "PATCH", "servers/t1", {"grpc": "127.0.0.1:9"})

    assert changed.json()["metrics"] == "http://127.0.0.1:9/metrics"
    assert refused.json()["errors"][0]["field"] == "grpc"


def test_an_operator_cannot_add_or_retire_servers(ci: Client) -> None:
    rows.server("t1")

    assert send(ci, "POST", "servers/t1/retire", {"reason": "old"}).status_code == 403
    assert Server.objects.get().state == ServerState.ACTIVE


def test_prometheus_is_told_of_active_servers_with_metrics(ci: Client) -> None:
    rows.server("t1", metrics="127.0.0.1:20002")
    rows.server("t2", metrics="https://triton.example/deep/metrics")
    rows.server("t3")
    rows.server("t4", metrics="127.0.0.1:20003", state=ServerState.CHECKING)

    answer = ci.get("/api/v1/sd/prometheus")

    usual = {"environment": "prod", "kind": "triton"}
    assert answer["Content-Type"] == "application/json"
    assert answer.json() == [
        {"targets": ["127.0.0.1:20002"], "labels": usual | {"server": "t1", "__metrics_path__": "/metrics"}},
        {
            "targets": ["triton.example"],
            "labels": usual | {"server": "t2", "__metrics_path__": "/deep/metrics", "__scheme__": "https"},
        },
    ]


def test_a_servers_own_labels_can_stand_in_for_no_other() -> None:
    hostile = {
        "environment": "dev",
        "__address__": "evil:1",
        "gpu.kind": "A100",
        "gpu-kind": "H100",
        "": "x",
        "empty": "",
    }

    assert own_labels(hostile) == {
        "label_": "x",
        "label___address__": "evil:1",
        "label_environment": "dev",
        "label_gpu_kind": "H100",
        "label_gpu_kind_conflict1": "A100",
    }


def test_prometheus_is_told_a_servers_own_labels(ci: Client) -> None:
    made = rows.server("t1", metrics="127.0.0.1:20002")
    made.labels = {"zone": "eu\n1", "gpu": "GPU-1"}
    made.save()

    (group,) = ci.get("/api/v1/sd/prometheus").json()

    assert group["labels"]["label_gpu"] == "GPU-1"
    assert "eu" in group["labels"]["label_zone"]
    assert group["labels"]["environment"] == "prod"


@pytest.mark.parametrize(("is_well", "age_s", "expected"), [(True, 1, True), (False, 1, False), (True, 600, False)])
def test_health_is_well_when_every_part_said_so_lately(
    ci: Client,
    is_well: bool,  # noqa: FBT001
    age_s: int,
    expected: bool,  # noqa: FBT001
) -> None:
    at = timezone.now() - timedelta(seconds=age_s)
    now = timezone.now()
    for name in PARTS:
        Part.objects.create(name=name, is_well=True, message="", at=now, since=now)
    Part.objects.filter(name="broker").update(is_well=is_well, at=at)

    told = ci.get("/api/v1/health").json()

    assert told["is_well"] is expected
    assert [part["name"] for part in told["parts"]] == list(PARTS)


def test_health_of_parts_that_never_spoke_is_not_well(ci: Client) -> None:
    told = ci.get("/api/v1/health").json()

    assert told["is_well"] is False
    assert {part["message"] for part in told["parts"]} == {"nothing has been heard of it yet"}
