"""A child never outlives its parent, and says why it ended."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from demo.parts.errors import PartDied, PartMissing, PartNotReady
from demo.parts.process import Child
from tests.demo.processes import command_lines, wait_for_none

# A program with a grandchild that leaves its group, the way a daemon does.
FAMILY = (
    "import subprocess, sys, time; subprocess.Popen(['sleep', sys.argv[1]], start_new_session=True); time.sleep(600)"
)
STUBBORN = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(600)"
)
BUSY = """
import os, threading
def write():
    while True: os.write(2, b"9")
for _ in range(4): threading.Thread(target=write).start()
"""
PARENT = """
import sys, time
from pathlib import Path
from demo.parts.process import Child
child = Child("family", [sys.executable, "-c", sys.argv[1], sys.argv[2]], log=Path(sys.argv[3]), grace_s=1)
child.start()
print("started", flush=True)
time.sleep(600)
"""


def python(code: str, *words: str, log: Path) -> Child:
    return Child("program", [sys.executable, "-c", code, *words], log=log)


def test_stop_ends_the_command_and_what_left_its_group(tmp_path: Path) -> None:
    mark = f"600.{tmp_path.stat().st_ino}1"
    child = python(FAMILY, mark, log=tmp_path / "log")
    child.start()
    child.wait_until(lambda: len(command_lines(f"sleep {mark}")) > 0)

    child.stop()

    assert not child.is_running
    assert command_lines(mark) == []


def test_a_killed_parent_leaves_nothing_behind(tmp_path: Path) -> None:
    mark = f"600.{tmp_path.stat().st_ino}2"
    words = [sys.executable, "-c", PARENT, FAMILY, mark, str(tmp_path / "log")]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"started\n"
        parent.send_signal(signal.SIGKILL)

    assert wait_for_none(mark, timeout_s=10) == []


def test_a_command_that_ignores_sigterm_is_killed_after_the_deadline(tmp_path: Path) -> None:
    child = python(STUBBORN, log=tmp_path / "log")
    child.start()
    child.wait_until(lambda: "up" in child.log_tail())

    child.stop(timeout_s=0.3)

    assert child.exit_code == 256 - signal.SIGKILL


def test_a_command_with_threads_does_nothing_from_the_moment_pause_returns(tmp_path: Path) -> None:
    """The guardian passes the signal on: a pause that did not wait was often outrun by its caller."""
    child = python(BUSY, log=tmp_path / "log")
    child.start()
    child.wait_until(lambda: "9" in child.log_tail())

    seen = []
    for _ in range(20):
        child.pause()
        written = child.log.stat().st_size
        time.sleep(0.01)
        seen.append(child.log.stat().st_size - written)
        child.resume()
    child.stop(timeout_s=5)

    assert seen == [0] * 20


def test_a_paused_command_can_be_stopped(tmp_path: Path) -> None:
    child = python("import time; print('up', flush=True); time.sleep(600)", log=tmp_path / "log")
    child.start()
    child.wait_until(lambda: "up" in child.log_tail())
    child.pause()

    child.stop(timeout_s=5)

    assert child.exit_code == 256 - signal.SIGTERM


def test_a_command_that_dies_says_what_it_logged_last(tmp_path: Path) -> None:
    child = python("import sys; print('no such colour'); sys.exit(3)", log=tmp_path / "log")
    child.start()

    with pytest.raises(PartDied, match=r"ended with code 3[\s\S]*no such colour"):
        child.wait_until(lambda: False)


def test_a_command_that_is_slow_to_answer_is_named(tmp_path: Path) -> None:
    child = python("import time; time.sleep(600)", log=tmp_path / "log")
    child.start()

    with pytest.raises(PartNotReady, match=r"program: no answer in 0\.1 s"):
        child.wait_until(lambda: False, timeout_s=0.1)

    child.kill()


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    child = Child("nothing", ["/no/such/program"], log=tmp_path / "log")

    with pytest.raises(PartMissing, match="/no/such/program: No such file"):
        child.start()
