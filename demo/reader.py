"""A second model that stands on the first, so that both go live in one release: an ensemble of one step."""

import zipfile
from pathlib import Path

from demo.rest import Conch
from demo.trained import Digits

NAME = "digit-reader"
CONFIG = """name: "digit-reader"
platform: "ensemble"
max_batch_size: 16
input [ { name: "pixels" data_type: TYPE_FP32 dims: [ 64 ] } ]
output [ { name: "label" data_type: TYPE_INT64 dims: [ 1 ] } ]
ensemble_scheduling {
  step [
    {
      model_name: "digits"
      model_version: -1
      input_map { key: "pixels" value: "pixels" }
      output_map { key: "label" value: "label" }
    }
  ]
}
"""


def add_reader(conch: Conch, digits: Digits) -> None:
    """The model and its only version, unless they are there."""
    if not conch.has(f"models/{NAME}"):
        about = {"name": NAME, "owner": "vision", "description": "What digits says, as the label alone: an ensemble."}
        conch.post("models", about)
    if not conch.has(f"models/{NAME}/versions/1"):
        fields = {"number": "1", "notes": "one step: digits, whatever version is live"}
        conch.upload(f"models/{NAME}/versions", _archive(digits.folder / f"{NAME}.zip"), fields)


def _archive(file: Path) -> Path:
    """Triton wants a directory for the version, and nothing in it."""
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("config.pbtxt", CONFIG)
        archive.mkdir("1")
    return file
