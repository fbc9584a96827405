"""Cards, promises and advice: over REST, and as parts of pages."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from apps.registry.models import Model
from demo.parts.ports import free_port
from tests.apps.api import rows
from tests.apps.metrics.doubles import Asked, ScriptedPrometheus, matrix
from tests.apps.metrics.test_cards import told

pytestmark = pytest.mark.django_db


@pytest.fixture
def visitor(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("ann"))
    return client


def waiting(asked: Asked) -> dict[str, Any]:
    """A model whose requests wait most of their time, on two servers."""
    start, end, step = (int(asked.parameters[name]) for name in ("start", "end", "step"))
    query = asked.parameters["query"]
    value = 30 if "queue_duration" in query else 40 if "request_duration" in query else 5
    labels = [{"model": "digits"}]
    if "by (model, server)" in query:
        labels = [{"model": "digits", "server": name} for name in ("a", "b")]
    if "nv_cpu" in query or "nv_gpu" in query:
        return matrix()
    return matrix(*((one, [(float(at), str(value)) for at in range(start, end + 1, step)]) for one in labels))


def drowsy(asked: Asked) -> dict[str, Any]:
    """A model of whose time little is spent on the GPU, in small batches."""
    query, end = asked.parameters["query"], float(asked.parameters["end"])
    labels = {"model": "digits", "server": "a", "gpu_uuid": "GPU-1"}
    value = 0.2 if "nv_gpu" in query else 40 if "request_duration" in query else 2 if "compute" in query else 6
    return matrix((labels, [(end, str(value))]))


def cards(_: Asked) -> dict[str, Any]:
    return matrix(*((one.labels, [(float(_.parameters["end"]), str(one.values[0]))]) for one in told("dcgm_mig_a100")))


def test_a_queue_is_named_with_its_numbers_and_a_change_to_apply(
    visitor: Client,
    scripted: ScriptedPrometheus,
) -> None:
    scripted.answer = waiting
    rows.placement(active=rows.version(1))

    document = visitor.get("/api/v1/advice", {"environment": "prod", "model": "digits"}).json()

    (found,) = [one for one in document["advice"] if one["rule"] == "queue_over_half"]
    assert {one["measure"]: one["value"] for one in found["numbers"]} == {"queue_share": 0.75, "queue_ms": 30}
    assert found["overlay"] == ["instance_group.count=2"]
    assert found["apply_url"] == "/models/digits/prod/overlay/?set=instance_group.count%3D2"
    assert {"rule": "memory_kept", "lacks": "kept_share"} in document["unjudged"]


def test_a_servers_advice_is_about_its_models(visitor: Client, scripted: ScriptedPrometheus) -> None:
    scripted.answer = waiting
    rows.placement(active=rows.version(1))
    rows.server("t1")

    document = visitor.get("/api/v1/advice", {"server": "t1"}).json()

    assert {one["model"] for one in document["advice"]} == {"digits"}
    assert all('server="t1"' in one.parameters["query"] for one in scripted.asked)


def test_advice_opens_the_overlay_page_with_the_change_filled_in(
    visitor: Client,
    scripted: ScriptedPrometheus,
) -> None:
    scripted.answer = waiting
    rows.placement(active=rows.version(1))

    part = visitor.get("/insight/advice/", {"environment": "prod", "model": "digits"}).content.decode()
    page = visitor.get("/models/digits/prod/overlay/?set=instance_group.count%3D2")

    assert 'href="/models/digits/prod/overlay/?set=instance_group.count%3D2"' in part
    assert "75% of the latency spent in the queue" in part
    assert "instance_group.count=2" in page.content.decode()


def test_a_queue_delay_is_advised_that_is_longer_than_the_present_one(
    visitor: Client,
    scripted: ScriptedPrometheus,
) -> None:
    scripted.answer = drowsy
    made = rows.version(1)
    made.config = {"max_batch_size": 16, "dynamic_batching": {"max_queue_delay_microseconds": "2000"}}
    made.save()
    rows.placement(active=made)

    document = visitor.get("/api/v1/advice", {"environment": "prod", "model": "digits"}).json()

    (found,) = [one for one in document["advice"] if one["rule"] == "small_batches"]
    assert found["overlay"] == ["dynamic_batching.max_queue_delay_microseconds=4000"]


def test_cards_are_told_with_their_slices(visitor: Client, scripted: ScriptedPrometheus) -> None:
    scripted.answer = cards

    document = visitor.get("/api/v1/gpus").json()

    assert [(card["host"], card["gpu"], card["power_w"]) for card in document["cards"]] == [
        ("gpu-node-a", "0", 187.3),
        ("gpu-node-a", "1", 96.8),
    ]
    assert [one["instance"] for one in document["cards"][0]["slices"]] == ["1", "5", "9", "10"]


def test_a_servers_page_draws_its_own_slices(visitor: Client, scripted: ScriptedPrometheus) -> None:
    scripted.answer = cards
    made = rows.server("t1")
    made.labels = {"mig": "gpu-node-a/0/9", "gpu": "what"}
    made.save()

    part = visitor.get("/insight/devices/", {"server": "t1"}).content.decode()

    assert part.count('class="gpu-slice"') == 1
    assert part.count("gpu-slice is-other") == 4
    assert "label gpu: &#x27;what&#x27; is not GPU-&lt;uuid&gt; or host/number" in part
    assert 'style="' not in part
    assert "<h2>GPUs</h2>" in part


def test_a_server_without_any_gpu_shows_no_panel_of_them(visitor: Client, scripted: ScriptedPrometheus) -> None:
    scripted.answer = lambda _: matrix()
    rows.server("t1")

    page = visitor.get("/servers/t1/").content.decode()
    part = visitor.get("/insight/devices/", {"server": "t1"}).content.decode()

    assert "<h2>GPUs</h2>" not in page + part
    assert '<div id="live-devices" hidden data-live' in part


def test_a_part_that_did_not_move_is_not_sent_again(visitor: Client, scripted: ScriptedPrometheus) -> None:
    scripted.answer = cards
    part = visitor.get("/insight/devices/")
    stamp = part.content.decode().split("updated=")[1].split('"')[0]

    again = visitor.get("/insight/devices/", {"updated": stamp})

    assert (part["X-Conch-Fragment"], again.status_code) == ("1", 304)


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("/api/v1/gpus", "remarks"),
        ("/api/v1/promises?models=digits", "problem"),
        ("/api/v1/advice?environment=prod&model=digits", "problem"),
    ],
)
def test_prometheus_down_is_said_and_is_no_error(visitor: Client, settings: Settings, path: str, key: str) -> None:
    settings.CONCH = {**settings.CONCH, "prometheus_url": f"http://127.0.0.1:{free_port()}"}
    rows.placement(active=rows.version(1))
    Model.objects.update(slo_error_ratio=0.01)

    answer = visitor.get(path)

    assert answer.status_code == 200
    assert "connection refused" in str(answer.json()[key])


@pytest.mark.parametrize(
    "path", ["/insight/devices/", "/insight/promises/?model=digits", "/insight/advice/?model=digits"]
)
def test_parts_of_pages_say_so_too(visitor: Client, settings: Settings, path: str) -> None:
    settings.CONCH = {**settings.CONCH, "prometheus_url": f"http://127.0.0.1:{free_port()}"}
    rows.placement(active=rows.version(1))
    Model.objects.update(slo_error_ratio=0.01)

    assert "connection refused" in visitor.get(path).content.decode()


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/api/v1/gpus?server=nobody", "server_unknown"),
        ("/api/v1/advice?server=nobody", "server_unknown"),
        ("/api/v1/advice?environment=nowhere", "environment_unknown"),
    ],
)
def test_what_is_not_there_is_a_problem(visitor: Client, path: str, code: str) -> None:
    answer = visitor.get(path)

    assert (answer.status_code, answer.json()["code"]) == (404, code)


def test_a_server_page_leaves_it_to_its_charts_to_say_that_prometheus_is_down(
    visitor: Client, settings: Settings
) -> None:
    settings.CONCH = {**settings.CONCH, "prometheus_url": f"http://127.0.0.1:{free_port()}"}
    rows.server("t1")

    cards = visitor.get("/insight/devices/", {"server": "t1"}).content.decode()

    assert '<div id="live-devices" hidden data-live' in cards
    assert "refused" not in cards
