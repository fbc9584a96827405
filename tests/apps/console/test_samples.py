"""Adding samples from the console: typed, as files, from what is live."""

import io
import json
from pathlib import Path

import numpy as np
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from apps.registry.models import Sample
from tests.factories.fleets import FleetRows

PAGE = "/models/digits/samples/add/"


def npz(**arrays: object) -> SimpleUploadedFile:
    kept = io.BytesIO()
    np.savez(kept, **arrays)  # type: ignore[arg-type]
    return SimpleUploadedFile("tensors.npz", kept.getvalue())


@pytest.fixture(autouse=True)
def receiving(tmp_path: Path, settings: Settings) -> None:
    """Where files of a form come in."""
    settings.CONCH = {**settings.CONCH, "artifacts_dir": tmp_path}
    settings.FILE_UPLOAD_TEMP_DIR = str(tmp_path / "receiving")


def test_a_sample_s_files_count_among_what_comes_in_too(rows: FleetRows, operator: Client, settings: Settings) -> None:
    settings.CONCH = {**settings.CONCH, "max_incoming_bytes": 100}

    answer = operator.post(PAGE, {"name": "filed", "inputs_file": npz(pixels=np.zeros((1, 64), np.float32))})

    assert (answer.status_code, Sample.objects.filter(name="filed").exists()) == (503, False)
    assert "are on their way in already" in answer.content.decode()


def test_files_make_a_golden_sample(rows: FleetRows, operator: Client) -> None:
    sent = {
        "name": "filed",
        "inputs_file": npz(pixels=np.zeros((1, 64), np.float32)),
        "outputs_file": npz(label=np.array([[7]])),
    }

    answer = operator.post(PAGE, sent)

    sample = Sample.objects.get(name="filed")
    assert answer.headers["Location"] == "/models/digits/"
    assert (sample.outputs[0]["datatype"], sample.outputs[0]["data"]) == ("INT64", [7])


def test_answers_are_taken_from_what_is_live(rows: FleetRows, operator: Client) -> None:
    pixels = '[{"name": "pixels", "datatype": "FP32", "shape": [1, 2], "data": [0, 0]}]'.replace("2]", "64]", 1)
    typed = pixels.replace("[0, 0]", str([0] * 64))

    operator.post(PAGE, {"name": "live", "inputs": typed, "capture": "prod"})

    sample = Sample.objects.get(name="live")
    page = operator.get("/models/digits/").content.decode()
    assert (sample.is_golden, sample.capture["environment"]) == (False, "prod")
    assert "being taken from prod" in page


@pytest.mark.parametrize("field", ["inputs", "outputs", "tolerances"])
def test_what_nests_too_deep_is_no_json(field: str, rows: FleetRows, operator: Client) -> None:
    answer = operator.post(PAGE, {"name": "deep", field: "[" * 100_000})

    assert answer.status_code == 400
    assert "This is not JSON" in answer.content.decode()


def test_a_sample_that_fits_nothing_keeps_what_was_typed(rows: FleetRows, operator: Client) -> None:
    typed = '[{"name": "pixel", "datatype": "FP32", "shape": [1], "data": [0]}]'

    answer = operator.post(PAGE, {"name": "no", "inputs": typed})

    page = answer.content.decode()
    assert answer.status_code == 400
    assert "there is no input &#x27;pixel&#x27;, only pixels" in page
    assert "sample_misfit" in page


def test_outputs_come_in_one_way_only(rows: FleetRows, operator: Client) -> None:
    answer = operator.post(PAGE, {"name": "no", "inputs": "[]", "outputs": '[{"name": "y"}]', "capture": "prod"})

    assert "Give the outputs in one way only." in answer.content.decode()
    assert "Give the inputs, or choose" not in answer.content.decode()


def test_a_sample_needs_inputs_from_somewhere(rows: FleetRows, operator: Client) -> None:
    answer = operator.post(PAGE, {"name": "no"})

    assert "Give the inputs, or choose where they are taken from." in answer.content.decode()


def typed(name: str, size: int) -> str:
    return json.dumps([{"name": name, "datatype": "FP32", "shape": [1, size], "data": [0] * size}])


def widened(rows: FleetRows) -> None:
    """The newest version takes 32 pixels, the others 64."""
    newest = rows.models["digits"].versions.filter(state="ready").order_by("-number").first()
    assert newest is not None
    newest.signature["inputs"][0]["shape"] = [32]
    newest.save(update_fields=["signature"])


def test_a_sample_that_is_added_is_told_which_versions_it_fits(rows: FleetRows, operator: Client) -> None:
    widened(rows)

    added = operator.post(PAGE, {"name": "wide", "inputs": typed("pixels", 32)}, follow=True)

    page = added.content.decode()
    assert "Sample wide fits version" in page
    assert "has the shape [1, 32], the version has [batch, 64]" in page


def test_the_list_tells_of_each_sample_which_versions_it_fits_and_why_not_the_others(
    rows: FleetRows, operator: Client, viewer: Client
) -> None:
    operator.post(PAGE, {"name": "fine", "inputs": typed("pixels", 64)})
    widened(rows)

    page = viewer.get("/models/digits/").content.decode()
    told = viewer.get("/api/v1/models/digits/samples/fine").json()

    newest = max(told["fits"] + [int(number) for number in told["misfits"]])
    assert (str(newest) in told["misfits"], len(told["fits"]) > 0) == (True, True)
    assert f"<li>{newest}: input &#x27;pixels&#x27; has the shape [1, 64], the version has [batch, 32]</li>" in page


def test_samples_cost_one_query_however_many_there_are(rows: FleetRows, operator: Client, viewer: Client) -> None:
    costs = []
    for number in range(3):
        operator.post(PAGE, {"name": f"s{number}", "inputs": typed("pixels", 64)})
        with CaptureQueriesContext(connection) as queries:
            viewer.get("/models/digits/")
        costs.append(len(queries))

    assert len(set(costs)) == 1
