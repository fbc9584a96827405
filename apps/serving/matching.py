"""PromQL's matchers, written so that no value can end its literal. Pure."""

import re
from collections.abc import Iterable, Mapping

_SPECIAL = re.compile(r"[^A-Za-z0-9_ ,:/-]")


def quoted(value: str) -> str:
    """`value` as a PromQL string literal: nothing in it can end the literal."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'


def exactly(labels: Mapping[str, str]) -> list[str]:
    """A matcher for each label that has a value."""
    return [f"{label}={quoted(value)}" for label, value in labels.items() if value]


def one_of(label: str, values: Iterable[str]) -> list[str]:
    """A matcher for any of the values; none without values."""
    wanted = list(values)
    if len(wanted) <= 1:
        return exactly({label: wanted[0]}) if wanted else []
    return [f"{label}=~{quoted('|'.join(_literally(value) for value in wanted))}"]


def _literally(value: str) -> str:
    """`value` as a regular expression that matches itself; a class for each special character reads best."""
    return _SPECIAL.sub(lambda found: rf"\{found[0]}" if found[0] in "\\^[]" else f"[{found[0]}]", value)
