"""What dies is started again, and it is said."""

import sys
from pathlib import Path

import pytest

from demo.parts.part import Part
from demo.parts.process import Child
from demo.supervisor import Supervisor, Watch, stop_all
from tests.fixtures.waiting import eventually


class Sleeper(Part):
    """A part that only sleeps, or ends at once with the code it was given."""

    name = "sleeper"

    def __init__(self, root: Path, *, code: str = "import time; time.sleep(600)") -> None:
        self._root = root
        self._code = code

    def make_child(self) -> Child:
        return Child(self.name, [sys.executable, "-c", self._code], log=self._root / "log")

    def is_ready(self) -> bool:
        return True


def test_a_killed_part_is_started_again_and_named(tmp_path: Path) -> None:
    said: list[str] = []
    part = Sleeper(tmp_path)
    part.launch()
    first = part.running_child.pid
    supervisor = Supervisor([part], say=said.append)
    supervisor.start()

    part.kill()

    assert eventually(lambda: part.is_running and part.running_child.pid != first)
    assert said == ["sleeper ended (SIGKILL); starting it again now"]
    supervisor.stop()
    assert not part.is_running


def test_a_part_that_keeps_dying_is_given_longer_pauses(tmp_path: Path) -> None:
    said: list[str] = []
    part = Sleeper(tmp_path, code="raise SystemExit(3)")
    part.launch()
    supervisor = Supervisor([part], say=said.append)
    watch = Watch(part, launched_at_s=0.0)

    for now_s in (1.0, 2.0, 3.0, 6.0):
        eventually(lambda: not part.is_running)
        supervisor.look_after(watch, now_s=now_s)

    assert said == [
        "sleeper ended (code 3); starting it again now",
        "sleeper ended (code 3); starting it again in 1 s",
        "sleeper ended (code 3); starting it again in 3 s",
    ]
    part.stop()


@pytest.mark.parametrize("count", [0, 3])
def test_stopping_stops_all_of_them(tmp_path: Path, count: int) -> None:
    parts = [Sleeper(tmp_path) for _ in range(count)]
    for part in parts:
        part.launch()

    stop_all(parts)

    assert [part.is_running for part in parts] == [False] * count
