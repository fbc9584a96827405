"""The charts' colours in both themes: lines by slot, marks by kind. Pure.

A version keeps its slot on every page. Labels are written in their line's colour, so each has a contrast of at
least 4.5:1 to both of its theme's surfaces (a test computes it).
"""

from collections.abc import Mapping
from zlib import crc32

from apps.common.text import whole_number

SLOTS = 8

LIGHT: Mapping[str, str] = {
    "0": "#1f5fbf",
    "1": "#b3480a",
    "2": "#0b7261",
    "3": "#8b2fa8",
    "4": "#7a5b00",
    "5": "#b01e5e",
    "6": "#3f6b12",
    "7": "#50508f",
    "text": "#4a5260",
    "grid": "#dfe3e9",
    "slo": "#b3261e",
    "began": "#1f5fbf",
    "succeeded": "#1b7038",
    "failed": "#b3261e",
    "rolled_back": "#b3261e",
    "rollback": "#8a5300",
    "restart": "#8b2fa8",
    "drift": "#b3261e",
    "in_line": "#1b7038",
}

DARK: Mapping[str, str] = {
    "0": "#7db2ff",
    "1": "#ffa066",
    "2": "#4fd1b5",
    "3": "#d79bf0",
    "4": "#e0bf4a",
    "5": "#ff8fbc",
    "6": "#a4d264",
    "7": "#b4b4f5",
    "text": "#a9b2c0",
    "grid": "#2f3743",
    "slo": "#ff8a80",
    "began": "#7db2ff",
    "succeeded": "#6fd08c",
    "failed": "#ff8a80",
    "rolled_back": "#ff8a80",
    "rollback": "#f0b35a",
    "restart": "#d79bf0",
    "drift": "#ff8a80",
    "in_line": "#6fd08c",
}


def slot_of_version(version: str, *, model: str = "") -> int:
    """The colour of a version: by its number, moved on by the model's name where several models share a chart."""
    known = whole_number(version)
    number = crc32(version.encode()) if known is None else known
    return (number - 1 + crc32(model.encode())) % SLOTS


def slot_of_server(server: str) -> int:
    """The colour of a server or a device of it."""
    return crc32(server.encode()) % SLOTS
