"""Placeholders of templates in a configuration that nobody has filled in. Pure."""

import re
from dataclasses import dataclass

# Strings and comments, in which a placeholder is allowed.
_QUOTED = re.compile(r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'")
_COMMENT = re.compile(r"#[^\n]*")
# An enumeration cut by what looks like a comment: `TYPE_#DTYPE`.
_CUT = re.compile(r"[A-Za-z_]*_#[A-Za-z][A-Za-z0-9_]*")
_MARKED = re.compile(r"\$\{[^}\n]*\}?|\$[A-Za-z_]\w*|\{\{[^}\n]*\}{0,2}|\{%[^\n]*?%\}|@[A-Za-z_]\w*@|<%[^\n]*?%>")
# A bare word in capitals where a number belongs; enumerations' values begin with the kind they are of.
_WORD = re.compile(r":\s*\[?\s*([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*)\b")
_ENUMERATED = re.compile(r"(?:TYPE|KIND|FORMAT|MODE|PRIORITY|CONTROL|DATA|MEMORY)_|(?:REJECT|DELAY)$")


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A placeholder and the line it stands on, counted from 1."""

    text: str
    line: int


def find_placeholder(text: str) -> Placeholder | None:
    """The first marked placeholder outside strings and comments, None when there is none."""
    plain = _QUOTED.sub(_blank, text)
    found = _CUT.search(plain) or _MARKED.search(_COMMENT.sub(_blank, plain))
    return Placeholder(found.group(), plain.count("\n", 0, found.start()) + 1) if found else None


def find_word(text: str, line: int) -> Placeholder | None:
    """A word in capitals on a line that could not be read, such as MAX_BATCH for a number."""
    lines = _COMMENT.sub(_blank, _QUOTED.sub(_blank, text)).splitlines()
    if not 1 <= line <= len(lines):
        return None
    words = [word for word in _WORD.findall(lines[line - 1]) if not _ENUMERATED.match(word)]
    return Placeholder(words[0], line) if words else None


def _blank(found: re.Match[str]) -> str:
    return " " * len(found.group())
