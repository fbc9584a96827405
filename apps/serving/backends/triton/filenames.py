"""Which file a backend loads, and which backend a file is for. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any

# What the backend opens when the configuration names no file.
REQUIRED_FILES: Mapping[str, str] = {
    "python": "model.py",
    "onnxruntime": "model.onnx",
    "tensorrt": "model.plan",
    "pytorch": "model.pt",
    "openvino": "model.xml",
    "dali": "model.dali",
    "vllm": "model.json",
}
# The older way to choose a backend; TensorFlow's two formats exist only as platforms.
PLATFORM_FILES: Mapping[str, str] = {
    "onnxruntime_onnx": "model.onnx",
    "tensorrt_plan": "model.plan",
    "pytorch_libtorch": "model.pt",
    "tensorflow_graphdef": "model.graphdef",
    "tensorflow_savedmodel": "model.savedmodel",
}
PLATFORMS: Mapping[str, str] = {
    "onnxruntime_onnx": "onnxruntime",
    "tensorrt_plan": "tensorrt",
    "pytorch_libtorch": "pytorch",
    "tensorflow_graphdef": "tensorflow",
    "tensorflow_savedmodel": "tensorflow",
}
# Every platform there is, and its backend; an ensemble has none.
MAKES: Mapping[str, str] = {**PLATFORMS, "ensemble": ""}
# What the server tells a backend by, when the configuration does not: a file of this name in the version.
TELLING: Mapping[str, str] = {
    **{name: backend for backend, name in REQUIRED_FILES.items() if backend in ("python", "onnxruntime", "tensorrt")},
    "model.pt": "pytorch",
    "model.savedmodel": "tensorflow",
    "model.graphdef": "tensorflow",
    "model.xml": "openvino",
}


def required_file(document: Mapping[str, Any]) -> str | None:
    """The file a version directory must hold, None where any will do."""
    is_ensemble = document.get("platform") == "ensemble" or "ensemble_scheduling" in document
    if is_ensemble or document.get("cc_model_filenames"):
        return None
    named = document.get("default_model_filename") or REQUIRED_FILES.get(document.get("backend", ""))
    return named or PLATFORM_FILES.get(document.get("platform", ""))


def backend_of(document: Mapping[str, Any], files: Iterable[str]) -> str:
    """The backend by name, by platform, or by the file that is there; empty when nothing tells."""
    known = document.get("backend") or MAKES.get(document.get("platform", ""), "")
    if known:
        return str(known)
    names = {path.split("/")[1] for path in files if path.startswith("version/")}
    return next((backend for name, backend in TELLING.items() if name in names), "")
