"""Trying a version over REST."""

import base64
import json
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from apps.deployments import services
from apps.deployments.models import Trial
from apps.fleet.models import ObservedVersion
from apps.registry.models import Version
from tests.apps.api import rows
from tests.apps.registry.test_images import png

pytestmark = pytest.mark.django_db
INPUTS = [{"name": "x", "datatype": "FP32", "shape": [1, 4], "data": [[1, 2, 3, 4]]}]


def try_it(client: Client, **more: Any) -> Any:
    body = {"server": "t1", "model": "digits", "version": 1, "inputs": INPUTS, **more}
    return client.post("/api/v1/trials", json.dumps(body), content_type="application/json")


@pytest.fixture
def served() -> None:
    server = rows.server("t1")
    rows.version(1)
    ObservedVersion.objects.create(server=server, model="digits", version=1, state="READY", since=timezone.now())


def test_a_trial_is_accepted_and_its_answer_can_be_waited_for(ci: Client, served: None) -> None:
    answer = try_it(ci)
    begun = services.begin_trial(answer.json()["id"], now=timezone.now())
    assert begun is not None
    services.end_trial(begun, answer={"outputs": [], "latency_us": 900, "spent": None})

    told = ci.get(f"{answer['Location']}?wait=5").json()

    assert answer.status_code == 202
    assert (told["state"], told["has_ended"], told["answer"]["latency_us"]) == ("answered", True, 900)
    assert told["inputs"][0]["data"] == [1, 2, 3, 4]
    assert [one["id"] for one in ci.get("/api/v1/trials?model=digits").json()["results"]] == [told["id"]]


def test_a_server_that_does_not_serve_it_is_a_conflict(ci: Client) -> None:
    rows.server("t1")
    rows.version(1)

    answer = try_it(ci)

    assert (answer.status_code, answer.json()["code"]) == (409, "not_served_there")


@pytest.fixture
def seeing(served: None) -> Version:
    """A version with an image and a number as its inputs."""
    version = Version.objects.get()
    inputs = [
        {"name": "picture", "datatype": "UINT8", "shape": [2, 2, 3]},
        {"name": "gain", "datatype": "FP32", "shape": [1]},
    ]
    version.signature = {"inputs": inputs, "outputs": [], "max_batch_size": 0}
    version.save()
    return version


def test_an_image_takes_the_place_of_the_input_that_takes_one(ci: Client, seeing: Version) -> None:
    gain = {"name": "gain", "datatype": "FP32", "shape": [1], "data": [0.5]}
    image = base64.b64encode(png(4, 4, (255, 0, 51))).decode()

    answer = try_it(ci, inputs=[gain], image=image)

    assert answer.status_code == 202
    assert [(one["name"], one["data"]) for one in Trial.objects.get().inputs] == [
        ("picture", [255, 0, 51] * 4),
        ("gain", [0.5]),
    ]


@pytest.mark.parametrize(
    ("more", "code", "words"),
    [
        ({"image": "no base64!"}, "fields_invalid", "This is not base64"),
        ({"image": base64.b64encode(b"no image").decode()}, "sample_invalid", "cannot be read as an image"),
        ({"image": "aaaa", "image_input": "gain"}, "sample_invalid", "no input 'gain' takes an image"),
    ],
)
def test_an_image_that_is_none_is_refused(
    ci: Client, seeing: Version, more: dict[str, str], code: str, words: str
) -> None:
    answer = try_it(ci, **more)

    assert (answer.status_code, answer.json()["code"]) == (400, code)
    assert words in answer.content.decode()


def test_a_trial_that_nobody_made_is_not_found(ci: Client) -> None:
    answer = ci.get("/api/v1/trials/77")

    assert (answer.status_code, answer.json()["code"]) == (404, "trial_unknown")
