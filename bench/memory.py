"""The memory of a process and its descendants, watched while something is done."""

import threading
from pathlib import Path
from types import TracebackType
from typing import Self

EVERY_S = 0.05


def rss_mb(pid: int) -> float:
    """Resident memory of the process and all its descendants, in MiB; what the page cache holds is not theirs."""
    return sum(_rss_kib(one) for one in _family(pid)) / 1024


def _family(pid: int) -> list[int]:
    parents = {int(path.name): _parent(path) for path in Path("/proc").iterdir() if path.name.isdigit()}
    found = [pid]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found


def _parent(path: Path) -> int:
    try:
        return int((path / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def _rss_kib(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))


class Watch:
    """The most that processes held above what they held at first, by name, while the block ran."""

    def __init__(self, pids: dict[str, int]) -> None:
        self._pids = pids
        self._idle = {name: rss_mb(pid) for name, pid in pids.items()}
        self.above_idle_mb = dict.fromkeys(pids, 0.0)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._ended.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._ended.wait(EVERY_S):
            for name, pid in self._pids.items():
                above = rss_mb(pid) - self._idle[name]
                self.above_idle_mb[name] = max(self.above_idle_mb[name], round(above, 1))
