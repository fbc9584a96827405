"""Trying a version at the console."""

import json
from pathlib import Path
from types import ModuleType
from unittest.mock import create_autospec

import pytest
import tritonclient.grpc as triton_grpc
import tritonclient.http as triton_http
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from apps.common.actor import COMMAND
from apps.console.shown.trials import trial_page
from apps.deployments import services
from apps.deployments.models import Trial
from apps.registry import services as registry
from apps.registry.models import Version
from tests.apps.registry.test_images import png
from tests.factories.fleets import FleetRows

TRY = "/models/digits/versions/2/try/"
PIXELS = [{"name": "pixels", "datatype": "FP32", "shape": [1, 2], "data": [0.5, 1]}]
BODY = '{"inputs": [{"name": "pixels", "datatype": "FP32", "shape": [1, 2], "data": [1, 2], "parameters": {}}]}'
VALUES: dict[str, list[object]] = {"BOOL": [False, True], "BYTES": ["a", 'b"']}


def server_of(rows: FleetRows) -> str:
    rows.observed("prod-1", "digits", 2)
    return "prod-1"


def test_the_form_starts_with_the_inputs_of_the_sample_one_chose(operator: Client, rows: FleetRows) -> None:
    server_of(rows)
    registry.add_sample(
        COMMAND, model="digits", name="half", inputs=[{**PIXELS[0], "shape": [1, 64], "data": [0.5] * 64}]
    )

    page = operator.get(f"{TRY}?sample=half").content.decode()

    assert "Send one request" in page
    assert "&quot;datatype&quot;" in page


def test_a_pasted_body_is_sent_as_a_client_sends_it(operator: Client, rows: FleetRows) -> None:
    answer = operator.post(TRY, {"server": server_of(rows), "inputs": BODY})

    trial = Trial.objects.get()
    assert answer.headers["Location"] == reverse("console:trial", args=[trial.pk])
    assert trial.inputs[0]["data"] == [1, 2]


@pytest.mark.parametrize("text", ["[1, 2", "[1, 2" + "[" * 100_000])
def test_what_is_no_json_is_said_beside_the_field_and_kept(text: str, operator: Client, rows: FleetRows) -> None:
    answer = operator.post(TRY, {"server": server_of(rows), "inputs": text})

    assert answer.status_code == 400
    assert "This is not JSON" in answer.content.decode()
    assert "[1, 2" in answer.content.decode()


def test_an_image_goes_into_the_input_one_chose_and_the_rest_stays(
    operator: Client, rows: FleetRows, settings: Settings, tmp_path: Path
) -> None:
    settings.FILE_UPLOAD_TEMP_DIR = str(tmp_path)
    inputs = [{"name": name, "datatype": "UINT8", "shape": [2, 2, 3]} for name in ("left", "right")]
    signature = {"inputs": inputs, "outputs": [], "max_batch_size": 0}
    Version.objects.filter(model__name="digits", number=2).update(signature=signature)
    kept = json.dumps([{"name": "left", "datatype": "UINT8", "shape": [1], "data": [7]}])
    image = SimpleUploadedFile("red.png", png(4, 4, (255, 0, 51)))

    operator.post(TRY, {"server": server_of(rows), "inputs": kept, "image": image, "image_input": "right"})

    assert [(one["name"], one["data"]) for one in Trial.objects.get().inputs] == [
        ("right", [255, 0, 51] * 4),
        ("left", [7]),
    ]


def test_without_a_server_that_serves_it_the_page_says_what_to_do(operator: Client, rows: FleetRows) -> None:
    Version.objects.filter(model__name="digits", number=3).update(state="ready")

    page = operator.get("/models/digits/versions/3/try/").content.decode()

    assert "No server serves digits 3" in page


def test_the_answer_stands_beside_the_same_request_for_other_clients(operator: Client, rows: FleetRows) -> None:
    trial = services.try_version(COMMAND, server=server_of(rows), model="digits", version=2, inputs=PIXELS)
    begun = services.begin_trial(trial.pk, now=trial.created_at)
    assert begun is not None
    spent = {"queue_us": 40.0, "input_us": 5.0, "infer_us": 900.0, "output_us": 4.0, "requests": 3}
    output = {"name": "<b>label</b>", "datatype": "INT64", "shape": [1, 1], "data": [7], "is_cut": False}
    services.end_trial(begun, answer={"outputs": [output], "latency_us": 1500, "spent": spent})

    page = operator.get(f"/trials/{trial.pk}/").content.decode()

    assert "&lt;b&gt;label&lt;/b&gt;" in page
    assert "the mean of the 3 requests that ended meanwhile" in page
    assert "/v2/models/digits/versions/2/infer" in page
    assert "import tritonclient.grpc as triton" in page
    assert operator.get(f"/trials/{trial.pk}/request.json").json() == {"inputs": PIXELS}


@pytest.mark.parametrize("client", [triton_http, triton_grpc], ids=["http", "grpc"])
@pytest.mark.parametrize("kind", ["BOOL", "UINT8", "INT64", "FP16", "BF16", "FP32", "FP64", "BYTES"])
def test_what_one_copies_makes_the_request_with_the_client_that_is_installed(
    kind: str, client: ModuleType, rows: FleetRows, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    inputs = [{"name": "x", "datatype": kind, "shape": [1, 2], "data": VALUES.get(kind, [0, 1])}]
    trial = services.try_version(COMMAND, server=server_of(rows), model="digits", version=2, inputs=inputs)
    page = trial_page(trial, body_url="/request.json")
    (tmp_path / "request.json").write_text(json.dumps({"inputs": trial.inputs}))
    made = create_autospec(client.InferenceServerClient)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(client, "InferenceServerClient", made)

    exec(page.http if client is triton_http else page.grpc, {})

    model, (sent,) = made.return_value.infer.call_args.args
    assert (model, sent.name(), sent.datatype(), sent.shape()) == ("digits", "x", kind, [1, 2])


def test_somebody_who_only_looks_is_told_so(viewer: Client, rows: FleetRows) -> None:
    answer = viewer.post(TRY, {"server": server_of(rows), "inputs": BODY})

    assert answer.status_code == 403
