"""Text from servers and uploads is hostile: make it safe to keep and to show."""

import re

# CSI and OSC sequences, then any other control character but newline and tab, and halves of surrogates: UTF-8 has none.
_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b.")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_WHOLE = re.compile(r"[0-9]{1,19}")
# The largest that a column holds.
_LARGEST = 2**63 - 1

SHOWN_CHARS = 2_000
KEPT_CHARS = 64_000
KIB = 1024


def printable(text: str, *, limit: int = KEPT_CHARS) -> str:
    """`text` without terminal escapes, control or bidi characters, cut to `limit` and saying so."""
    plain = _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", _ESCAPES.sub("", text.replace("\r\n", "\n")))
    if len(plain) <= limit:
        return plain
    return f"{plain[:limit]}\n... ({len(plain) - limit:,} more characters cut)"


def whole_number(text: str) -> int | None:
    """The number that `text` spells in plain digits; None when it spells none, or one that no column holds."""
    number = int(text) if _WHOLE.fullmatch(text) else _LARGEST + 1
    return number if number <= _LARGEST else None


def as_size(size_bytes: float) -> str:
    """Bytes in the unit that fits: `12 B`, `3.4 MiB`."""
    units, at = ("B", "KiB", "MiB", "GiB", "TiB"), 0
    while size_bytes >= KIB and at < len(units) - 1:
        size_bytes, at = size_bytes / KIB, at + 1
    return f"{size_bytes:.0f} {units[at]}" if at == 0 else f"{size_bytes:.1f} {units[at]}"
