"""The smallest real model: doubles its FP32 input."""

from pathlib import Path

CONFIG = """name: "doubler"
backend: "python"
max_batch_size: 0
input [ { name: "x" data_type: TYPE_FP32 dims: [ -1 ] } ]
output [ { name: "y" data_type: TYPE_FP32 dims: [ -1 ] } ]
"""
MODEL = """import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def execute(self, requests):
        inputs = [pb_utils.get_input_tensor_by_name(request, "x").as_numpy() for request in requests]
        return [pb_utils.InferenceResponse([pb_utils.Tensor("y", x * 2)]) for x in inputs]
"""


def write_doubler(repository: Path) -> None:
    """Lay the model down as version 1."""
    version = repository / "doubler" / "1"
    version.mkdir(parents=True)
    (repository / "doubler" / "config.pbtxt").write_text(CONFIG)
    (version / "model.py").write_text(MODEL)
