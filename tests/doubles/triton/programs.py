"""Running a model.py inside the simulator: one compiled class per text, one object per loaded instance."""

import functools
import importlib.util
import sys
import traceback
from pathlib import Path
from typing import Any

from tests.doubles.triton import backend_utils

sys.modules["triton_python_backend_utils"] = backend_utils


class ModelBroke(Exception):
    """The model's own code raised; the words are as Triton passes them on."""


@functools.lru_cache(maxsize=4_096)
def compiled(path: str, source: bytes) -> Any:
    """The model's class; its module runs once, however many servers load it."""
    names: dict[str, Any] = {"__name__": "model", "__file__": path}
    try:
        exec(compile(source, path, "exec"), names)
        return names["TritonPythonModel"]
    except Exception as error:
        raise ModelBroke(told(error, path)) from error


def begin(path: str, source: bytes, *, arguments: dict[str, str]) -> Any:
    """A new instance, initialised; ModelBroke with what it raised."""
    made = compiled(path, source)()
    try:
        if hasattr(made, "initialize"):
            made.initialize(arguments)
    except Exception as error:
        raise ModelBroke(told(error, path)) from error
    return made


def answer(instance: Any, path: str, request: backend_utils.InferenceRequest) -> list[backend_utils.Tensor]:
    """One request; ModelBroke with what the model raised."""
    try:
        (response,) = instance.execute([request])
    except Exception as error:
        raise ModelBroke(told(error, path)) from error
    if response.error is not None:
        raise ModelBroke(response.error.message())
    return list(response.output_tensors)


def told(error: Exception, path: str) -> str:
    """An exception in the words of Triton's python backend."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    where = "".join(f"\n  {frame.filename}({frame.lineno}): {frame.name}" for frame in frames[-1:])
    return f"{type(error).__name__}: {error}\n\nAt:{where}\n"


def leave_cache(path: str) -> None:
    """What Python writes beside a model at its first import: it moves the directory's newest time stamp."""
    file = Path(path)
    if not file.is_file():
        return
    cached = Path(importlib.util.cache_from_source(str(file)))
    if cached.exists() and cached.stat().st_mtime_ns >= file.stat().st_mtime_ns:
        return
    try:
        cached.parent.mkdir(exist_ok=True)
        cached.touch()
    except OSError:
        return  # read-only, as it should be
