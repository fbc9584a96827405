"""The model that is measured: 2 s to start, 0.5 s for its first request, then milliseconds."""

import textwrap
import zipfile
from pathlib import Path

from tests.factories.triton_models import BODY, config_text, python_model

START = "time.sleep(2)"
FIRST_REQUEST = """\
if not self.answered:
    time.sleep(0.5)
"""


def lay_out(repository: Path, model: str, version: int, *, with_config: bool = False) -> Path:
    """The version directory in a repository, as a person would copy it there."""
    return python_model(repository, model, version, initialize=START, execute=FIRST_REQUEST, config=with_config)


def write_archive(folder: Path, model: str) -> Path:
    """A zip as CI would upload it."""
    body = BODY.format(initialize=textwrap.indent(START, " " * 8), execute=textwrap.indent(FIRST_REQUEST, " " * 12))
    file = folder / f"{model}.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(f"{model}/config.pbtxt", config_text(model))
        archive.writestr(f"{model}/1/model.py", body)
    return file


def write_quick_archive(folder: Path, model: str) -> Path:
    """A version that starts and answers at once."""
    file = folder / f"{model}.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(f"{model}/config.pbtxt", config_text(model))
        archive.writestr(f"{model}/1/model.py", BODY.format(initialize="", execute=""))
    return file
