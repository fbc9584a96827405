"""Publishing beside what a real Triton serves, and publishers that are killed."""

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from apps.fleet.repositories import posix as repositories
from apps.serving.connections import connection
from apps.serving.protocol import Address
from demo.parts.triton import Triton
from tests.factories.artifacts import artifact
from tests.factories.triton_models import ask, config_text, python_model
from tests.fixtures.tritons import StartTriton

BEGIN = """\
import json, sys
from pathlib import Path
from apps.fleet.repositories import posix as r
a = json.load(sys.stdin)
"""
FOREVER = """
for number in range(1, 10_000):
    r.publish_version(Path(a["root"]), model="demo", number=number, artifact=Path(a["artifact"]), files=a["files"])
    r.make_shadow(Path(a["root"]), model="demo", number=number, config_text=str(number))
    r.write_config(Path(a["root"]), model="demo", text=str(number) * 1_000)
    print(number, flush=True)
"""


@pytest.fixture(scope="module")
def triton(start_triton: StartTriton) -> Triton:
    return start_triton("publishing")


class Published:
    """A model published and loaded until a load of it restarts nothing."""

    def __init__(self, triton: Triton, made: Path, name: str, shared: dict[str, bytes]) -> None:
        self.name, self.root = name, triton.repository
        self.backend = connection("triton", Address(name="publishing", grpc=triton.grpc))
        self._code = (python_model(made / "made", name, 1) / "model.py").read_bytes()
        self._made = made
        self.publish(1, shared)
        for _ in range(2):  # the second settles the byte code that the first wrote
            self.load([1])
        self.stamp, self.started_at = self.now()

    def publish(self, number: int, shared: dict[str, bytes]) -> None:
        contents = {"version/model.py": self._code} | {f"shared/{path}": content for path, content in shared.items()}
        made = artifact(self._made / str(number), contents)
        repositories.publish_version(
            self.root, model=self.name, number=number, artifact=made.directory, files=made.files
        )

    def load(self, versions: list[int]) -> None:
        policy = f"version_policy {{ specific {{ versions: {versions} }} }}"
        repositories.write_config(self.root, model=self.name, text=config_text(self.name) + policy)
        self.backend.load(self.name, timeout_s=30)

    def now(self) -> tuple[int | None, float]:
        """Version 1's newest time stamp, and since when it runs."""
        stamp = repositories.newest_stamp_ns(self.root, model=self.name, number=1)
        return stamp, ask(self.backend, self.name, 1).started_at


@pytest.mark.live
def test_publishing_beside_a_loaded_version_restarts_nothing(triton: Triton, tmp_path: Path) -> None:
    demo = Published(triton, tmp_path, "demo", {"labels.txt": b"labels"})

    demo.publish(2, {"labels.txt": b"labels"})
    shadow = repositories.make_shadow(demo.root, model="demo", number=2, config_text=config_text("demo.shadow"))
    demo.backend.load(shadow.name, timeout_s=30)
    demo.load([1, 2])

    assert (ask(demo.backend, "demo.shadow").version, ask(demo.backend, "demo").version) == (2, 2)
    assert demo.now() == (demo.stamp, demo.started_at)


def mode(demo: Published) -> None:
    (demo.root / demo.name / "1" / "model.py").chmod(0o600)


def older(demo: Published) -> None:
    os.utime(demo.root / demo.name / "labels.txt", (0, 0))


def shared(demo: Published) -> None:
    demo.publish(2, {"labels.txt": b"labels", "more.txt": b"more"})


@pytest.mark.live
@pytest.mark.parametrize("change", [mode, older, shared])
def test_what_moves_the_stamp_restarts_the_version_and_only_that(
    change: Callable[[Published], None], triton: Triton, tmp_path: Path
) -> None:
    demo = Published(triton, tmp_path, change.__name__, {"labels.txt": b"labels"})

    change(demo)
    demo.load([1])

    stamp, started_at = demo.now()
    assert (stamp != demo.stamp, started_at != demo.started_at) == (True, True)


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
    assert child.stdin is not None
    assert child.stdout is not None
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
    assert text == text[: len(text) // 1_000] * 1_000
    again = repositories.publish_version(
        root, model="demo", number=numbers[-1] + 1, artifact=source.directory, files=source.files
    )
    assert again.was_there is False
