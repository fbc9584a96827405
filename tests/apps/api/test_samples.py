"""Samples over REST: JSON, NumPy's files, answers from what is live."""

import io
import json
from typing import Any

import numpy as np
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from apps.registry.models import Sample
from tests.apps.api import rows

pytestmark = pytest.mark.django_db
ONES = [{"name": "x", "datatype": "FP32", "shape": [1, 4], "data": [1, 1, 1, 1]}]


def send(client: Client, path: str, **body: Any) -> Any:
    return client.post(f"/api/v1/models/digits/{path}", json.dumps(body), content_type="application/json")


def npz(**arrays: Any) -> SimpleUploadedFile:
    kept = io.BytesIO()
    np.savez(kept, **arrays)
    return SimpleUploadedFile("tensors.npz", kept.getvalue())


def test_a_sample_that_fits_only_some_versions_says_which(ci: Client) -> None:
    rows.version(1)
    other = rows.version(2)
    other.signature = {"inputs": [{"name": "x", "datatype": "FP32", "shape": [5]}], "outputs": [], "max_batch_size": 8}
    other.save()

    answer = send(ci, "samples", name="ones", inputs=ONES)

    told = ci.get(answer["Location"]).json()
    assert (answer.status_code, told["fits"]) == (201, [1])
    assert told["misfits"] == {"2": ["input 'x' has the shape [1, 4], the version has [batch, 5]"]}


def test_a_sample_that_fits_no_version_is_refused_in_words(ci: Client) -> None:
    rows.version(1)

    answer = send(ci, "samples", name="ones", inputs=[{**ONES[0], "name": "y"}])

    assert (answer.status_code, answer.json()["code"]) == (400, "sample_misfit")
    assert "there is no input 'y', only x" in answer.json()["detail"]
    assert Sample.objects.count() == 0


def test_a_sample_comes_as_npz_with_tolerances_by_output(ci: Client) -> None:
    rows.version(1)

    answer = ci.post(
        "/api/v1/models/digits/sample-files",
        {
            "name": "filed",
            "inputs": npz(x=np.ones((2, 4), np.float32)),
            "outputs": npz(y=np.ones((2, 3), np.float32), z=np.array([b"\xff", b"a"])),
            "tolerances": json.dumps({"y": {"compare": "label"}}),
        },
    )

    told = answer.json()
    assert (answer.status_code, told["is_golden"]) == (201, True)
    assert [(one["name"], one["datatype"], one.get("compare")) for one in told["outputs"]] == [
        ("y", "FP32", "label"),
        ("z", "BYTES", None),
    ]
    assert told["outputs"][1]["data"] == [{"b64": "/w=="}, "a"]


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"tolerances": '{"q": {"atol": 1}}'}, "no output 'q'"),
        ({"tolerances": "[1]"}, "tolerances is not an object"),
        ({"outputs": SimpleUploadedFile("y.npz", b"nothing")}, "no .npz that can be read"),
    ],
)
def test_a_file_or_tolerance_that_is_wrong_says_why(ci: Client, more: dict[str, Any], says: str) -> None:
    rows.version(1)

    answer = ci.post(
        "/api/v1/models/digits/sample-files", {"name": "n", "inputs": npz(x=np.ones((1, 4), np.float32)), **more}
    )

    assert (answer.status_code, answer.json()["code"]) == (400, "sample_invalid")
    assert says in answer.json()["detail"]


def test_a_capture_waits_for_a_worker_and_makes_inputs_where_there_are_none(ci: Client) -> None:
    version = rows.version(1)
    version.config = {
        "max_batch_size": 8,
        "input": [{"name": "x", "data_type": "TYPE_FP32", "dims": [4]}],
        "output": [{"name": "y", "data_type": "TYPE_FP32", "dims": [3]}],
    }
    version.save()
    rows.placement(active=version)

    answer = send(ci, "sample-captures", name="live", environment="prod", tolerances={"y": {"atol": 0.1}})

    told = answer.json()
    assert (answer.status_code, told["is_golden"]) == (202, False)
    assert told["inputs"] == [{"name": "x", "datatype": "FP32", "shape": [1, 4], "data": [0, 0, 0, 0]}]
    assert told["capture"] == {"environment": "prod", "tolerances": {"y": {"atol": 0.1, "rtol": 0.001}}}
    assert Sample.objects.get().capture_due_at is not None


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({"sequence_batching": {}}, "a sequence model needs"),
        ({"model_transaction_policy": {"decoupled": True}}, "a decoupled model answers"),
    ],
)
def test_what_cannot_be_asked_plainly_says_so(ci: Client, config: dict[str, Any], says: str) -> None:
    version = rows.version(1)
    version.config = config
    version.save()
    rows.placement(active=version)

    answer = send(ci, "sample-captures", name="live", environment="prod", inputs=ONES)

    assert (answer.status_code, answer.json()["code"]) == (400, "nothing_to_send")
    assert says in answer.json()["detail"]


def test_nothing_can_be_taken_where_nothing_is_live(ci: Client) -> None:
    rows.version(1)
    rows.placement()

    assert send(ci, "sample-captures", name="live", environment="prod").json()["code"] == "nothing_placed"
