"""Which points in time a chart asks for. Pure: the same for everybody who looks within the same few seconds."""

from dataclasses import dataclass
from datetime import datetime

from apps.metrics.errors import BadRange

MAX_POINTS = 11_000
SHORTEST_S, LONGEST_S = 60, 30 * 86_400
USUAL_S = 900
POINTS = 240
SCRAPES_PER_RATE = 4
LONGEST_SLOT_S = 60
# Points this close to the end may have changed since: scrapes come in a little later than they are dated.
UNSETTLED_POINTS = 3
_STEPS_S = (1, 2, 4, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 14_400)


@dataclass(frozen=True, slots=True)
class Window:
    """The points in time a chart is drawn at: from `start_s`, every `step_s`, to `end_s`, in Unix seconds."""

    start_s: int
    end_s: int
    step_s: int

    def __len__(self) -> int:
        return (self.end_s - self.start_s) // self.step_s + 1


def window_for(range_s: int, *, now: datetime, scrape_interval_s: int, points: int = POINTS) -> Window:
    """The last `range_s` up to the beginning of the current slot, in about 240 steps, none shorter than a scrape.

    Slots are as long as steps up to a minute: within a slot everybody asks the same, and from one slot to the next
    the points stay where they are, so that only the tail is new.
    """
    if not SHORTEST_S <= range_s <= LONGEST_S:
        raise BadRange(f"range_s is {range_s}", field="range_s")
    step_s = next(step for step in _STEPS_S if step >= max(scrape_interval_s, range_s / points))
    slot_s = min(step_s, LONGEST_SLOT_S)
    end_s = int(now.timestamp()) // slot_s * slot_s
    return Window(start_s=end_s - range_s // step_s * step_s, end_s=end_s, step_s=step_s)


def latest(window: Window) -> Window:
    """The last moment of a window alone, which may be shown again for as long."""
    return Window(window.end_s, window.end_s, window.step_s)


def rate_window_s(window: Window, *, scrape_interval_s: int) -> int:
    """How long a rate looks back: over enough scrapes, and over everything between two points."""
    return max(SCRAPES_PER_RATE * scrape_interval_s, window.step_s)


def keep_s(window: Window, *, now_s: float) -> int:
    """How long an answer over this window may be shown again; what is long over does not change."""
    if now_s - window.end_s > LONGEST_SLOT_S:
        return LONGEST_SLOT_S
    return max(2, min(window.step_s, LONGEST_SLOT_S))
