"""config.pbtxt out of an upload: read as text, looked through for placeholders, parsed."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from apps.common.text import printable
from apps.registry import refusals
from apps.registry.layout import CONFIG_FILE
from apps.registry.placeholders import Placeholder, find_placeholder, find_word
from apps.serving import backends
from apps.serving.configuration import ModelConfig
from apps.serving.errors import ConfigUnparsable

MAX_CONFIG_BYTES = 1 << 20


def read_text(path: Path) -> str:
    """The file's text; ConfigTooLarge or ConfigNotUtf8."""
    if path.stat().st_size > MAX_CONFIG_BYTES:
        raise refusals.ConfigTooLarge(CONFIG_FILE, f"it has more than {MAX_CONFIG_BYTES:,} bytes")
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise refusals.ConfigNotUtf8(CONFIG_FILE) from error
    if "\x00" in text:
        raise refusals.ConfigNotUtf8(CONFIG_FILE, "it holds a NUL character")
    return text


def parse(text: str) -> ModelConfig:
    """The configuration; ConfigUnparsable, or TemplateUnfilled where somebody forgot to fill a template in."""
    if placeholder := find_placeholder(text):
        _refuse_template(placeholder)
    try:
        config = backends.get("triton").CONFIG.parse(text)
    except ConfigUnparsable as error:
        word = find_word(text, int(error.facts.get("line") or 0))
        if word and not error.facts.get("meant"):
            _refuse_template(word)
        raise
    if _has_nul(config.document):
        raise refusals.ConfigNotUtf8(CONFIG_FILE, "one of its strings holds a NUL character")
    return config


def _has_nul(value: Any) -> bool:
    """Whether a string anywhere in it holds what no database column may."""
    if isinstance(value, str):
        return "\x00" in value
    if isinstance(value, Mapping):
        return any(_has_nul(key) or _has_nul(part) for key, part in value.items())
    return isinstance(value, list | tuple) and any(_has_nul(part) for part in value)


def _refuse_template(placeholder: Placeholder) -> NoReturn:
    shown = printable(placeholder.text, limit=80)
    raise refusals.TemplateUnfilled(
        CONFIG_FILE, f"line {placeholder.line} still holds the placeholder {shown!r}", line=placeholder.line
    )
