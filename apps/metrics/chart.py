"""What a chart is made of. Pure."""

from dataclasses import dataclass
from enum import StrEnum

from apps.serving.signals import Signal


class Page(StrEnum):
    """Where a chart can stand."""

    MODEL = "model"
    SERVER = "server"
    ROLLOUT = "rollout"
    GPU = "gpu"


@dataclass(frozen=True, slots=True)
class Words:
    """A remark about one server, and about several."""

    one: str
    several: str


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines one signal gives.

    `name` is added to each line's own labels. `said` wherever these lines are drawn. `instead_of` names the signal
    whose absence makes these lines wanted. `hides_zeros`: of several reasons only those that occurred are drawn, or
    one line at zero. `is_of_one_server`: drawn where one server is looked at.
    """

    signal: Signal
    name: str = ""
    said: Words | None = None
    instead_of: Signal | None = None
    hides_zeros: bool = False
    is_of_one_server: bool = False


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart: its unit on the axis and what a signal's value is multiplied by to be in that unit.

    `slo` names the promise of the model that is drawn as a line. `is_optional`: many servers do not give it, and an
    empty one takes little room. `is_of_devices`: about GPUs and slices, whatever serves on them.
    """

    key: str
    title: str
    unit: str
    lines: tuple[Lines, ...]
    pages: tuple[Page, ...]
    help: str
    idle: str = "no requests in this time"
    scale: float = 1.0
    slo: str = ""
    is_per_version: bool = True
    is_optional: bool = False
    is_of_devices: bool = False
