"""The five trained versions of the demo's model, made once."""

import fcntl
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from demo.parts.process import Child
from demo.parts.triton_environment import TritonEnvironment

SOURCES = Path(__file__).resolve().parent / "digits"
TRAINING_TIMEOUT_S = 300


@dataclass(frozen=True)
class Digits:
    """What demo/digits/train.py wrote."""

    folder: Path

    @property
    def held_out(self) -> Path:
        """JSON: images (each 64 values in 0..16) and labels nobody trained on."""
        return self.folder / "held_out.json"

    def archive(self, number: int) -> Path:
        """The zip of that version."""
        return self.folder / f"digits-{number}.zip"

    def notes(self, number: int) -> str:
        """What the version is, with its accuracy on held-out images when it has one."""
        entry = json.loads((self.folder / "report.json").read_text())[str(number)]
        accuracy = entry["held_out_accuracy"]
        return str(entry["notes"]) + ("" if accuracy is None else f"; held-out accuracy {accuracy:.1%}")

    def samples(self) -> list[dict[str, Any]]:
        """Golden samples as the REST API takes them."""
        found: list[dict[str, Any]] = json.loads((self.folder / "samples.json").read_text())
        return found


def prepare_digits(home: Path, environment: TritonEnvironment) -> Digits:
    """The trained versions in `<home>/digits`; trained when the sources changed."""
    digits = Digits(folder=home / "digits")
    digits.folder.mkdir(parents=True, exist_ok=True)
    stamp = digits.folder / "trained"
    wanted = hashlib.sha256(b"".join(file.read_bytes() for file in sorted(SOURCES.glob("*.*")))).hexdigest()
    with (digits.folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not stamp.exists() or stamp.read_text() != wanted:
            _train(digits, environment)
            stamp.write_text(wanted)
    return digits


def _train(digits: Digits, environment: TritonEnvironment) -> None:
    program = [environment.python, SOURCES / "train.py", digits.folder]
    training = Child("training", program, log=digits.folder / "training.log", env=environment.variables())
    training.start()
    training.finish(timeout_s=TRAINING_TIMEOUT_S)
