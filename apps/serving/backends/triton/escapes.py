"""Backslashes in strings of config.pbtxt that no server takes; the Python parser lets them pass. Pure."""

import re

_PIECES = re.compile(r"#[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'")
_STRANGE = re.compile(r"\\(?:\\|[abfnrtv'\"?0-7]|[xX][0-9a-fA-F]|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})|(?P<bad>\\.)")


def strange_escape(text: str) -> tuple[int, int, str] | None:
    """Line, column and the escape that means nothing; None when there is none."""
    for piece in _PIECES.finditer(text):
        if piece.group().startswith("#"):
            continue
        for found in _STRANGE.finditer(piece.group()):
            if found["bad"]:
                at = piece.start() + found.start()
                return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at), found["bad"]
    return None
