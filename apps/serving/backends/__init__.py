"""Kinds of inference server: each folder here is one, discovered by name.

A kind's package exposes `connect(address, timeout_s) -> ServingBackend`, `CONFIG: ConfigFormat` and
`query(signal, selection) -> Query | Unsupported`.
"""

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache
from typing import Protocol, cast

from apps.serving.configuration import ConfigFormat
from apps.serving.errors import UnknownBackend
from apps.serving.protocol import Address, ServingBackend
from apps.serving.signals import Query, Selection, Signal, Unsupported


class Kind(Protocol):
    """What a backend's package offers."""

    CONFIG: ConfigFormat
    connect: Callable[[Address, float], ServingBackend]
    query: Callable[[Signal, Selection], Query | Unsupported]


@cache
def kinds() -> tuple[str, ...]:
    """The names of all kinds there are: read from the disk once, as a page of charts asks a hundred times."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(__path__) if module.ispkg))


def get(kind: str) -> Kind:
    """The backend of that kind, or UnknownBackend."""
    if kind not in kinds():
        raise UnknownBackend(f"no serving backend {kind!r}; there are: {', '.join(kinds())}")
    return cast(Kind, importlib.import_module(f"{__name__}.{kind}"))
