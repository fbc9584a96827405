"""Models that come as they fell out of a trainer: a file or a directory, without config.pbtxt. Pure."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import PurePosixPath

from apps.registry.paths import Parts

SAVED_MODEL = "saved_model.pb"
# What the file is called in a version's directory, and which backend loads it; in the order of choosing.
# Python's comes first: what lies beside a model.py is what it reads.
FILES = {
    "model.py": "python",
    "model.onnx": "onnxruntime",
    "model.plan": "tensorrt",
    "model.savedmodel": "tensorflow",
    "model.pt": "pytorch",
}
# A single file's ending, and its name in a version's directory.
ENDINGS = {
    ".onnx": "model.onnx",
    ".plan": "model.plan",
    ".engine": "model.plan",
    ".pt": "model.pt",
    ".py": "model.py",
}


@dataclass(frozen=True, slots=True)
class Bare:
    """A model's file without a configuration: its name in the version's directory, and the backend that loads it.

    `inside` is the directory that its bytes are put into, empty for the version's own. `called` is what the file was
    called, where it gets its name here; `beside` are other backends' files that lie with it.
    """

    name: str
    backend: str
    inside: str = ""
    called: str = ""
    beside: tuple[str, ...] = ()


def by_filename(filename: str) -> str | None:
    """What an uploaded file is called in a version's directory; None for what is no model's file by its name."""
    return ENDINGS.get(PurePosixPath(filename.replace("\\", "/")).suffix.lower())


def find_bare(names: Collection[str]) -> Bare | None:
    """The model among the names of one directory; None when there is none."""
    if SAVED_MODEL in names:
        return Bare("model.savedmodel", FILES["model.savedmodel"], inside="model.savedmodel")
    found = [name for name in FILES if name in names]
    return Bare(found[0], FILES[found[0]], beside=tuple(found[1:])) if found else None


def find_by_ending(names: Collection[str]) -> Bare | None:
    """The one model among them that has its own name, such as resnet50.onnx; None when there is none, or several."""
    called = [name for name in names if by_filename(name)]
    name = by_filename(called[0]) if len(called) == 1 else None
    return Bare(name, FILES[name], called=called[0]) if name else None


def unwrapped(files: Collection[Parts]) -> Parts:
    """The directories around everything else, from the outside in; a saved model's own is none of them."""
    top: Parts = ()
    while names := {path[len(top)] for path in files}:
        (name, *others) = names
        is_wrapper = not others and name not in FILES and all(len(path) > len(top) + 1 for path in files)
        if not is_wrapper or name in ("variables", "assets"):
            return top
        top = (*top, name)
    return top
