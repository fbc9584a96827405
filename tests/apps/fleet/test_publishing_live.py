"""Publishing beside what a real Triton serves, and publishers that are killed."""

import hashlib
import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from apps.fleet import repositories
from apps.serving.connections import connection
from apps.serving.protocol import Address
from tests.factories.artifacts import artifact
from tests.factories.triton_models import ask, config_text, python_model
from tests.fixtures.tritons import StartTriton

BEGIN = "import json, sys; from pathlib import Path; from apps.fleet import repositories as r; a = json.load(sys.stdin)"
FOREVER = """
for number in range(1, 10_000):
    r.publish_version(Path(a["root"]), model="demo", number=number, artifact=Path(a["artifact"]), files=a["files"])
    r.make_shadow(Path(a["root"]), model="demo", number=number, config_text=str(number))
    r.write_config(Path(a["root"]), model="demo", text=str(number) * 1_000)
    print(number, flush=True)
"""


@pytest.mark.live
def test_publishing_beside_a_loaded_version_restarts_nothing(start_triton: StartTriton, tmp_path: Path) -> None:
    triton = start_triton("publishing")
    backend = connection("triton", Address(name="publishing", grpc=triton.grpc))
    made = python_model(tmp_path / "made", "demo", 1) / "model.py"
    contents = {"version/model.py": made.read_bytes(), "shared/labels.txt": b"labels"}
    first, second = artifact(tmp_path / "a", contents), artifact(tmp_path / "b", contents | {"shared/d/more": b"m"})
    root = triton.repository
    repositories.publish_version(root, model="demo", number=1, artifact=first.directory, files=first.files)
    repositories.write_config(root, model="demo", text=config_text("demo"))
    for _ in range(2):  # the second settles the byte code that the first wrote
        backend.load("demo", timeout_s=30)
    started_at = ask(backend, "demo", 1).started_at

    repositories.publish_version(root, model="demo", number=2, artifact=second.directory, files=second.files)
    shadow = repositories.make_shadow(root, model="demo", number=2, config_text=config_text("demo.shadow"))
    backend.load(shadow.name, timeout_s=30)
    repositories.write_config(
        root, model="demo", text=config_text("demo") + "version_policy { specific { versions: [1, 2] } }"
    )
    backend.load("demo", timeout_s=30)

    assert (ask(backend, "demo.shadow").version, ask(backend, "demo").version) == (2, 2)
    assert ask(backend, "demo", 1).started_at == started_at


def whole(root: Path, files: dict[str, str]) -> bool:
    """Whether a version's directory holds all its files with the right content."""
    return {
        path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in root.rglob("*")
        if path.is_file()
    } == files


@pytest.mark.parametrize("seed", range(4))
def test_a_publisher_killed_at_any_moment_leaves_only_whole_things_in_the_root(seed: int, tmp_path: Path) -> None:
    root = tmp_path / "repository"
    root.mkdir()
    dice = random.Random(seed)
    source = artifact(tmp_path / "a", {f"version/{n}.bin": dice.randbytes(200_000) for n in range(5)})
    asked = {"root": str(root), "artifact": str(source.directory), "files": source.files}
    child = subprocess.Popen(
        [sys.executable, "-c", BEGIN + FOREVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdin is not None and child.stdout is not None
    child.stdin.write(json.dumps(asked))
    child.stdin.close()
    child.stdout.readline()

    time.sleep(dice.random() / 4)
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()

    files = {str(line["path"]).removeprefix("version/"): str(line["sha256"]) for line in source.files}
    numbers = sorted(int(path.name) for path in (root / "demo").iterdir() if path.is_dir())
    assert numbers == list(range(1, len(numbers) + 1))
    assert [number for number in numbers if not whole(root / "demo" / str(number), files)] == []
    assert set(repositories.listing(root)) <= {"demo", "demo.shadow"}
    text = repositories.read_config(root, model="demo") or ""
    assert len(set(text[i : i + len(text) // 1_000] for i in range(0, len(text), len(text) // 1_000))) == 1
    again = repositories.publish_version(
        root, model="demo", number=numbers[-1] + 1, artifact=source.directory, files=source.files
    )
    assert again.was_there is False
