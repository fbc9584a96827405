"""Errors as rows keep them."""

from collections.abc import Mapping
from typing import Any

from apps.common.errors import ControlPlaneError
from apps.common.text import SHOWN_CHARS, printable

_PLAIN = (bool, int, float, type(None))


def error_document(error: ControlPlaneError) -> dict[str, Any]:
    """{code, title, message, hint, reason, facts}: JSON-shaped, printable; a server's own words kept long."""
    facts = dict(error.facts)
    reason = facts.pop("reason", "")
    kept: dict[str, Any] = {
        "code": error.code,
        "title": error.title,
        "message": printable(error.message, limit=SHOWN_CHARS),
        "hint": error.hint,
    }
    if reason:
        kept["reason"] = printable(str(reason))
    if facts:
        kept["facts"] = {name: _plain(value) for name, value in facts.items()}
    return kept


def _plain(value: Any) -> Any:
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, Mapping):
        return {printable(str(name), limit=200): _plain(part) for name, part in list(value.items())[:20]}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(part) for part in list(value)[:20]]
    return printable(str(value), limit=SHOWN_CHARS)
