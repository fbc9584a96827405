"""A configuration for a file that came without one: from the file itself, where it tells enough."""

from pathlib import Path
from typing import Any

from apps.serving.backends.triton.onnx_graph import Graph, GraphTensor, read_graph
from apps.serving.backends.triton.python_source import read_source

COMPLETES = "auto_complete_config"


def make_config(file: Path, *, backend: str) -> dict[str, Any] | None:
    """The configuration as a document; None where the file does not tell, and neither would the server."""
    if backend == "onnxruntime":
        with file.open("rb") as opened:
            return _of_graph(read_graph(opened))
    if backend == "tensorrt":
        return {"backend": backend}
    if backend == "tensorflow" and file.is_dir():
        return {"platform": "tensorflow_savedmodel", "backend": backend}
    if backend == "python" and COMPLETES in (read_source(file.read_bytes()).methods or ()):
        return {"backend": backend}
    return None


def _of_graph(graph: Graph) -> dict[str, Any]:
    """Without batching: a dimension that varies stays one, so clients send what the graph itself takes."""
    return {
        "backend": "onnxruntime",
        "input": [_tensor(one) for one in graph.inputs],
        "output": [_tensor(one) for one in graph.outputs],
    }


def _tensor(tensor: GraphTensor) -> dict[str, Any]:
    return {"name": tensor.name, "data_type": tensor.datatype, "dims": list(tensor.dims)}
