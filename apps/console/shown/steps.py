"""What a step left to read, in one line. Pure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from apps.common.text import as_size, printable
from apps.console.shown.words import count

SAID_CHARS = 240
MOST = 6


def said(detail: Mapping[str, Any]) -> str:
    """A step's facts as words, one after another; facts nobody reads are left out."""
    parts = [words for name, value in detail.items() if (words := _say(name, value))]
    return printable("; ".join(parts), limit=SAID_CHARS)


def latencies(values: object) -> str:
    """First and last of the warm-up latencies: the first is what a cold start would have cost a client."""
    if not isinstance(values, list | tuple):
        return ""
    found = [float(one) / 1000 for one in values if isinstance(one, int | float)]
    return f"first {found[0]:.3g} ms, last {found[-1]:.3g} ms of {len(found)}" if found else ""


def golden(value: object) -> str:
    """How many golden answers agreed."""
    if not isinstance(value, int):
        return ""
    return f"{value} golden answer{'' if value == 1 else 's'} right" if value else "no golden samples"


def _say(name: str, value: object) -> str:
    if name in _QUIET or value in (None, "", [], ()):
        return ""
    words = _WORDS.get(name)
    return words(value) if words else f"{name.replace('_', ' ')} {_plain(value)}"


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3g}"
    if isinstance(value, Mapping):
        return _some(f"{key} {_plain(one)}" for key, one in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return _some(_plain(one) for one in value)
    return str(value)


def _some(parts: Iterable[str]) -> str:
    found = list(parts)
    return ", ".join(found[:MOST]) + (", …" if len(found) > MOST else "")


_QUIET = frozenset({"warmup", "version"})
_WORDS: Mapping[str, Callable[[Any], str]] = {
    "golden": golden,
    "latencies_us": lambda value: f"warm: {latencies(value)}",
    "latency_us": lambda value: f"answered in {value / 1000:.3g} ms",
    "was_there": lambda value: "was there already" if value else "",
    "copied_bytes": lambda value: f"{as_size(value)} copied" if value else "",
    "versions": lambda value: f"loaded: {_plain(value)}",
    "loaded": lambda value: f"loaded before: {_plain(value)}",
    "beside": lambda value: "beside the old one" if value else "in place of the old one",
    "warm_up_requests": lambda value: f"{count(value, 'warm-up request')} inside the load" if value else "",
    "loads": lambda value: "" if value else "nothing to load",
    "free_bytes": lambda value: f"{as_size(value)} free",
    "memory": lambda value: f"memory {value}",
    "is_tight": lambda value: "it does not fit twice: the one aside is gone before the other comes" if value else "",
    "dropped": lambda value: f"let go of version {value}",
    "remark": str,
    "unchecked": str,
    "unfit": lambda value: f"does not fit: {_plain(value)}",
    "waiting_for": str,
}
