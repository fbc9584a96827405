"""The HTTP wire and the metrics page: not Conch's way to a Triton, but Prometheus', clients' and load balancers'."""

import json
import re
import urllib.error
import urllib.request
from typing import Any

import pytest

from apps.serving.protocol import ServingBackend
from demo.parts.triton import Triton
from tests.apps.serving.conftest import load, wait_for
from tests.factories.triton_models import ask, python_model
from tests.fixtures.tritons import StartTriton

REQUEST = {"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 4], "data": [1, 2, 3, 4]}]}
# What Conch's charts and gates are made of.
FAMILIES = {
    "nv_inference_request_success": ("model", "version"),
    "nv_inference_request_failure": ("model", "reason", "version"),
    "nv_inference_count": ("model", "version"),
    "nv_inference_exec_count": ("model", "version"),
    "nv_inference_request_duration_us": ("model", "version"),
    "nv_inference_queue_duration_us": ("model", "version"),
    "nv_inference_compute_input_duration_us": ("model", "version"),
    "nv_inference_compute_infer_duration_us": ("model", "version"),
    "nv_inference_compute_output_duration_us": ("model", "version"),
    "nv_inference_pending_request_count": ("model", "version"),
    "nv_inference_request_summary_us": ("model", "quantile", "version"),
    "nv_cpu_utilization": (),
    "nv_cpu_memory_total_bytes": (),
    "nv_cpu_memory_used_bytes": (),
}
SAMPLE = re.compile(r"^(?P<metric>\w+)(?:\{(?P<labels>[^}]*)\})? (?P<value>\S+)$", re.MULTILINE)


def call(address: str, path: str, document: Any = None) -> tuple[int, Any]:
    """Status and document of one call; empty bodies are None."""
    body = None if document is None else json.dumps(document).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(f"http://{address}{path}", body), timeout=20) as answer:
            return answer.status, json.loads(answer.read() or b"null")
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, json.loads(refused.read() or b"null")


def samples(triton: Triton) -> list[tuple[str, dict[str, str], str]]:
    """Every sample of the metrics page: metric, labels, value as written."""
    with urllib.request.urlopen(f"http://{triton.metrics}/metrics", timeout=5) as answer:
        text = answer.read().decode()
    return [(one["metric"], dict(re.findall(r'(\w+)="([^"]*)"', one["labels"] or "")), one["value"])
            for one in SAMPLE.finditer(text)]  # fmt: skip


@pytest.fixture(scope="module")
def spoken(triton: Triton, backend: ServingBackend) -> str:
    python_model(triton.repository, "spoken", 3, execute='if x[0, 0] == 13: raise ValueError("thirteen")')
    load(backend, "spoken", 3)
    return "spoken"


def test_health_and_readiness_are_statuses(triton: Triton, spoken: str) -> None:
    assert call(triton.http, "/v2/health/live") == (200, None)
    assert call(triton.http, "/v2/health/ready") == (200, None)
    assert call(triton.http, f"/v2/models/{spoken}/ready") == (200, None)
    assert call(triton.http, f"/v2/models/{spoken}/versions/3/ready") == (200, None)
    assert call(triton.http, f"/v2/models/{spoken}/versions/4/ready")[0] == 400


def test_the_index_names_version_state_and_nothing_else_of_what_serves(triton: Triton, spoken: str) -> None:
    status, index = call(triton.http, "/v2/repository/index", {})

    assert status == 200
    assert {"name": spoken, "version": "3", "state": "READY"} in index


def test_a_request_goes_and_its_answer_names_the_version(triton: Triton, spoken: str) -> None:
    status, answer = call(triton.http, f"/v2/models/{spoken}/infer", REQUEST)

    assert status == 200
    assert (answer["model_name"], answer["model_version"]) == (spoken, "3")
    assert answer["outputs"][0] == {"name": "echo", "datatype": "FP32", "shape": [1, 4], "data": [1, 2, 3, 4]}


@pytest.mark.parametrize(
    ("path", "document", "status", "says"),
    [
        ("/v2/models/nobody/infer", {"inputs": []}, 404, "Request for unknown model: 'nobody' is not found"),
        ("/v2/models/nobody", None, 404, "Request for unknown model: 'nobody' is not found"),
        ("/v2/models/nobody/stats", None, 400, "requested model 'nobody' is not available"),
        ("/v2/repository/models/nowhere/load", {}, 500, "failed to load 'nowhere', failed to poll from model repos"),
        ("/v2/nothing", None, 404, "Not Found"),
    ],
)
def test_what_cannot_be_done_is_refused_in_its_words(
    triton: Triton, path: str, document: Any, status: int, says: str
) -> None:
    code, answer = call(triton.http, path, document)

    assert code == status
    assert says in answer["error"]


def test_loads_and_unloads_go_over_http_too(triton: Triton, backend: ServingBackend) -> None:
    python_model(triton.repository, "plain", 1, config=True)

    loaded = call(triton.http, "/v2/repository/models/plain/load", {})
    answered = ask(backend, "plain").version
    unloaded = call(triton.http, "/v2/repository/models/plain/unload", {})

    assert (loaded, answered, unloaded) == ((200, None), 1, (200, None))
    wait_for(lambda: not backend.is_ready("plain", 1))


def test_a_restricted_control_api_is_forbidden_without_its_header(start_triton: StartTriton) -> None:
    server = start_triton("keyed-1", restricted_key="conch-control=s3cret")

    status, answer = call(server.http, "/v2/repository/index", {})

    assert status == 403
    assert answer["error"] == "This API is restricted, expecting header 'conch-control'"
    assert call(server.http, "/v2/health/live") == (200, None)


def test_metadata_and_statistics_are_told(triton: Triton, spoken: str) -> None:
    _, described = call(triton.http, f"/v2/models/{spoken}")
    _, counted = call(triton.http, f"/v2/models/{spoken}/versions/3/stats")

    assert described["versions"] == ["3"]
    assert described["inputs"] == [{"name": "x", "datatype": "FP32", "shape": [-1, 4]}]
    assert [line["version"] for line in counted["model_stats"]] == ["3"]


def test_the_metrics_page_has_every_family_with_its_labels(triton: Triton, spoken: str) -> None:
    call(triton.http, f"/v2/models/{spoken}/infer", REQUEST)

    found = {metric: tuple(sorted(labels)) for metric, labels, _ in samples(triton)}

    assert {family: found.get(family) for family in FAMILIES} == FAMILIES


def test_counters_go_up_by_what_was_asked(triton: Triton, spoken: str) -> None:
    def counted() -> tuple[float, float]:
        mine = [(metric, labels, float(value)) for metric, labels, value in samples(triton)
                if labels.get("model") == spoken and value != "Nan"]  # fmt: skip
        good = sum(value for metric, _, value in mine if metric == "nv_inference_request_success")
        bad = sum(value for metric, labels, value in mine
                  if metric == "nv_inference_request_failure" and labels["reason"] == "BACKEND")  # fmt: skip
        return good, bad

    before = counted()
    call(triton.http, f"/v2/models/{spoken}/infer", REQUEST)
    thirteen = {"inputs": [{**REQUEST["inputs"][0], "data": [13, 0, 0, 0]}]}
    status, answer = call(triton.http, f"/v2/models/{spoken}/infer", thirteen)

    assert (status, "thirteen" in answer["error"]) == (500, True)
    wait_for(lambda: counted() == (before[0] + 1, before[1] + 1))
