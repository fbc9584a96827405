"""Small python-backend models for a real Triton: they say which version answers, and since when."""

import textwrap
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from apps.serving.protocol import ServingBackend, Tensor

CONFIG = """\
name: "{name}"
backend: "python"
max_batch_size: 8
input [ {{ name: "x" data_type: TYPE_FP32 dims: [ 4 ] }} ]
output [
  {{ name: "echo" data_type: TYPE_FP32 dims: [ 4 ] }},
  {{ name: "version" data_type: TYPE_INT64 dims: [ 1 ] }},
  {{ name: "started_at" data_type: TYPE_FP64 dims: [ 1 ] }},
  {{ name: "answered" data_type: TYPE_INT64 dims: [ 1 ] }}
]
instance_group [ {{ kind: KIND_CPU count: 1 }} ]
"""

BODY = """\
import os, time
import numpy as np
import triton_python_backend_utils as pb


class TritonPythonModel:
    def initialize(self, args):
        self.version, self.answered, self.started_at = int(args["model_version"]), 0, time.time()
{initialize}

    def execute(self, requests):
        answers = []
        for request in requests:
            x = pb.get_input_tensor_by_name(request, "x").as_numpy()
{execute}
            self.answered += len(x)
            rows = (len(x), 1)
            answers.append(pb.InferenceResponse([
                pb.Tensor("echo", x),
                pb.Tensor("version", np.full(rows, self.version, np.int64)),
                pb.Tensor("started_at", np.full(rows, self.started_at, np.float64)),
                pb.Tensor("answered", np.full(rows, self.answered, np.int64)),
            ]))
        return answers
"""

# Pretends to be a model.py that loads and answers nothing: for deliveries inside the load call.
TRIVIAL = b"""\
import triton_python_backend_utils as pb


class TritonPythonModel:
    def execute(self, requests):
        return [pb.InferenceResponse([]) for _ in requests]
"""


@dataclass(frozen=True)
class Said:
    """One answer of such a model."""

    version: int
    started_at: float
    answered: int
    echo: list[list[float]]


def config_text(name: str) -> str:
    """The config.pbtxt of such a model."""
    return CONFIG.format(name=name)


def python_model(
    repository: Path, name: str, version: int, *, initialize: str = "", execute: str = "", config: bool = False
) -> Path:
    """Lay out a version; `initialize` and `execute` are lines of Python put into those methods."""
    folder = repository / name / str(version)
    folder.mkdir(parents=True)
    body = BODY.format(
        initialize=textwrap.indent(textwrap.dedent(initialize), " " * 8),
        execute=textwrap.indent(textwrap.dedent(execute), " " * 12),
    )
    (folder / "model.py").write_text(body)
    if config:
        (folder.parent / "config.pbtxt").write_text(config_text(name))
    return folder


def ones(rows: int = 1, columns: int = 4) -> list[Tensor]:
    """The input of such a model, float32 [rows, columns]."""
    return [Tensor("x", "FP32", np.ones((rows, columns), np.float32))]


def ask(backend: ServingBackend, name: str, version: int | None = None) -> Said:
    """What the model answers to one row of ones."""
    outputs = backend.infer(name, version, ones()).outputs
    return Said(
        version=int(outputs["version"][0, 0]),
        started_at=float(outputs["started_at"][0, 0]),
        answered=int(outputs["answered"][0, 0]),
        echo=outputs["echo"].tolist(),
    )
