"""Starts again what died, and stops everything in the end."""

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from signal import Signals

from demo.parts.errors import PartError
from demo.parts.part import Part

LOOK_EVERY_S = 0.5
LONGEST_PAUSE_S = 30.0
STEADY_AFTER_S = 60.0


@dataclass
class Watch:
    """One part, when it was launched last and how often it has died since it was steady."""

    part: Part
    launched_at_s: float
    deaths: int = 0
    relaunch_at_s: float | None = None


class Supervisor:
    """Watches parts in a thread of its own; time is time.monotonic(), in seconds."""

    def __init__(self, parts: Sequence[Part], *, say: Callable[[str], None]) -> None:
        now_s = time.monotonic()
        self._watches = [Watch(part, launched_at_s=now_s) for part in parts]
        self._say = say
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="supervisor", daemon=True)

    def start(self) -> None:
        """Watch from now on."""
        self._thread.start()

    def stop(self) -> None:
        """Stop watching, then all parts at once, whatever state they are in."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()
        stop_all([watch.part for watch in self._watches])

    def _watch(self) -> None:
        while not self._stopping.wait(LOOK_EVERY_S):
            for watch in self._watches:
                self.look_after(watch, now_s=time.monotonic())

    def look_after(self, watch: Watch, *, now_s: float) -> None:
        """Say that a part died; launch it again after a pause that grows with its deaths."""
        if watch.part.is_running:
            return
        if watch.relaunch_at_s is None:
            steady = now_s - watch.launched_at_s > STEADY_AFTER_S
            watch.deaths = 1 if steady else watch.deaths + 1
            pause_s = min(LONGEST_PAUSE_S, 2.0 ** (watch.deaths - 1) - 1)
            watch.relaunch_at_s = now_s + pause_s
            when = f"in {pause_s:.0f} s" if pause_s else "now"
            self._say(f"{watch.part.name} ended ({ending(watch.part)}); starting it again {when}")
        if now_s >= watch.relaunch_at_s:
            self._relaunch(watch, now_s=now_s)

    def _relaunch(self, watch: Watch, *, now_s: float) -> None:
        watch.launched_at_s, watch.relaunch_at_s = now_s, None
        try:
            watch.part.stop()
            watch.part.launch()
        except (PartError, OSError) as error:
            self._say(f"{watch.part.name} cannot be started: {error}")


def stop_all(parts: Sequence[Part]) -> None:
    """Stop them side by side; returns when none is left."""
    with ThreadPoolExecutor(max_workers=max(1, len(parts))) as pool:
        list(pool.map(lambda part: part.stop(), parts))


def ending(part: Part) -> str:
    """How the process ended, in words."""
    code = part.child.exit_code if part.child is not None else None
    try:
        return f"code {code}" if code is None or code < 192 else Signals(256 - code).name
    except ValueError:
        return f"code {code}"
