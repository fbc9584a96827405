"""A request by hand as people see it, and the same for other clients. Pure."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from apps.common.text import printable
from apps.console.shown.links import link
from apps.console.shown.state import Chip, Problem, chip, problem

if TYPE_CHECKING:
    from apps.deployments.models import Trial

TRIAL = {
    "queued": ("queued >", "busy"),
    "running": ("asking >", "busy"),
    "answered": ("answered", "ok"),
    "failed": ("! failed", "bad"),
}
SHOWN_VALUES = 64
# A body longer than this is sent from a file.
SHORT_CHARS = 1_200
NUMPY = {"BOOL": "bool", "FP16": "float16", "FP32": "float32", "FP64": "float64", "BYTES": "object"}
BF16 = "ml_dtypes.bfloat16"
# Triton takes these in binary only.
NOT_IN_JSON = frozenset({"FP16", "BF16"})


@dataclass(frozen=True, slots=True)
class Output:
    """One output: what it is, and its first values."""

    name: str
    what: str
    values: str
    is_cut: bool


@dataclass(frozen=True, slots=True)
class TrialPage:
    """A request by hand: how it went, and how others make it."""

    number: int
    model: str
    version: int
    version_url: str
    again_url: str
    server: str
    server_url: str
    chip: Chip
    problem: Problem | None
    created_at: datetime
    created_by: str
    latency_us: int | None
    spent: tuple[tuple[str, float], ...]
    requests: int
    outputs: tuple[Output, ...]
    inputs: tuple[str, ...]
    curl: str
    curl_remark: str
    http: str
    grpc: str
    body_url: str
    is_moving: bool
    ended: str


def trial_page(trial: "Trial", *, body_url: str) -> TrialPage:
    """Everything about one request; `body_url` gives its body to download."""
    answer, server = trial.answer or {}, trial.server
    spent = answer.get("spent") or {}
    state = chip(TRIAL, trial.state)
    is_moving = state.tone == "busy"
    return TrialPage(
        number=trial.pk,
        model=trial.model.name,
        version=trial.version,
        version_url=link("version", trial.model.name, trial.version),
        again_url=f"{link('try_version', trial.model.name, trial.version)}?server={server.name}",
        server=server.name,
        server_url=link("server", server.name),
        chip=state,
        problem=problem(trial.error),
        created_at=trial.created_at,
        created_by=trial.created_by,
        latency_us=answer.get("latency_us"),
        spent=tuple((words, float(spent[name])) for name, words in SPENT.items() if name in spent),
        requests=int(spent.get("requests", 0)),
        outputs=tuple(_output(one) for one in answer.get("outputs", ())),
        inputs=tuple(f"{one['name']} {one['datatype']} {one['shape']}" for one in trial.inputs),
        curl=_curl(trial),
        curl_remark=_curl_remark(trial.inputs, server.http),
        http=_client("http", server.http, trial),
        grpc=_client("grpc", server.grpc, trial),
        body_url=body_url,
        is_moving=is_moving,
        ended="" if is_moving else f"{trial.model.name} {trial.version} on {server.name}: {trial.state}",
    )


SPENT = {
    "queue_us": "waiting in the queue",
    "input_us": "reading the input",
    "infer_us": "computing",
    "output_us": "writing the output",
}


def written(entries: Sequence[Mapping[str, Any]]) -> str:
    """Tensors as JSON to edit: one tensor a line."""
    return "[\n" + ",\n".join(f"  {json.dumps(one)}" for one in entries) + "\n]" if entries else ""


def _output(entry: Mapping[str, Any]) -> Output:
    values = entry.get("data") or []
    shown = ", ".join(_value(one) for one in values[:SHOWN_VALUES])
    is_cut = len(values) > SHOWN_VALUES or bool(entry.get("is_cut"))
    return Output(str(entry["name"]), f"{entry['datatype']} {entry['shape']}", shown, is_cut)


def _value(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else printable(str(value), limit=80)


def _curl(trial: "Trial") -> str:
    url = f"http://{trial.server.http or 'HOST:8000'}/v2/models/{trial.model.name}/versions/{trial.version}/infer"
    body = json.dumps({"inputs": trial.inputs})
    data = f"'{_quoted(body)}'" if len(body) <= SHORT_CHARS else "@request.json"
    return f"curl --silent --header 'Content-Type: application/json' \\\n  --data {data} \\\n  '{url}'"


def _quoted(body: str) -> str:
    """Inside a shell's single quotes."""
    return body.replace("'", "'\\''")


def _curl_remark(inputs: Sequence[Mapping[str, Any]], http: str) -> str:
    if any(one["datatype"] in NOT_IN_JSON for one in inputs):
        return "Triton takes FP16 and BF16 in binary only: use one of the clients below."
    return "" if http else "Conch does not know this server's HTTP address."


def _client(kind: str, address: str, trial: "Trial") -> str:
    """A script that asks the same, with one client for many requests."""
    prepared = [_prepared(position, one) for position, one in enumerate(trial.inputs)]
    where = address or {"http": "HOST:8000", "grpc": "HOST:8001"}[kind]
    opened = f'"{where}", concurrency=4' if kind == "http" else f'"{where}"'
    outputs = [f"print(answer.as_numpy({json.dumps(one['name'])}))" for one in (trial.answer or {}).get("outputs", ())]
    return "\n".join(
        [
            "import json",
            "",
            # numpy has no BF16; the clients bring this along.
            *(["import ml_dtypes"] if any(one["datatype"] == "BF16" for one in trial.inputs) else []),
            "import numpy as np",
            f"import tritonclient.{kind} as triton",
            "",
            "# One client for many requests: it keeps its connections open.",
            f"client = triton.InferenceServerClient({opened})",
            'with open("request.json") as file:',
            '    sent = json.load(file)["inputs"]',
            "inputs = []",
            *prepared,
            "# Several rows in one request (stacked along the first axis, where the model batches) cost little more.",
            "# Leave out model_version to follow what is live.",
            f'answer = client.infer("{trial.model.name}", inputs, model_version="{trial.version}")',
            *outputs,
        ]
    )


def _prepared(position: int, entry: Mapping[str, Any]) -> str:
    kind = entry["datatype"]
    dtype = BF16 if kind == "BF16" else f'"{NUMPY.get(kind) or str(kind).lower()}"'
    name, shape = entry["name"], entry["shape"]
    return "\n".join(
        [
            f'array = np.array(sent[{position}]["data"], dtype={dtype}).reshape({shape})',
            f'inputs.append(triton.InferInput({json.dumps(name)}, {shape}, "{kind}"))',
            "inputs[-1].set_data_from_numpy(array)",
        ]
    )
