"""Proving that a server reads this very repository: equal names alone would prove nothing."""

import time
from collections.abc import Collection
from contextlib import AbstractContextManager

from apps.common.text import printable
from apps.fleet.errors import RepositoryDiffers
from apps.serving.protocol import IndexEntry, ServingBackend

MARKER_PAUSE_S = 0.2


def index_of_same_repository(
    backend: ServingBackend,
    marker: AbstractContextManager[str],
    *,
    server: str,
    place: str,
    there: Collection[str],
    patience_s: float,
) -> tuple[IndexEntry, ...]:
    """The index, once what `marker` makes there just now turns up in it; `there` is what lay there before."""
    with marker as name:
        end = time.monotonic() + patience_s
        while True:
            index = backend.index()
            listed = {entry.model for entry in index}
            if name in listed:
                return tuple(entry for entry in index if entry.model != name)
            if time.monotonic() >= end:
                raise _differs(server, place, there=there, listed=listed)
            time.sleep(MARKER_PAUSE_S)


def _differs(server: str, place: str, *, there: Collection[str], listed: Collection[str]) -> RepositoryDiffers:
    missing = sorted(name for name in there if name not in listed)
    extra = sorted(name for name in listed if name not in there)
    seen = []
    if missing:
        seen.append(f"{len(missing)} of the directory's {len(there)} models are not in its index ({_some(missing)})")
    if extra:
        seen.append(f"its index lists {len(extra)} that the directory does not have ({_some(extra)})")
    because = "; ".join(seen) or "a directory made there did not appear in its index"
    return RepositoryDiffers(f"{server}: it does not read {place}: {because}", server=server, path=place)


def _some(names: list[str]) -> str:
    shown = ", ".join(printable(name, limit=60) for name in names[:3])
    return f"{shown}, ..." if len(names) > len(names[:3]) else shown
