"""How times, sizes and states are written."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING

from django import template
from django.utils import timezone
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe

from apps.common.text import SHOWN_CHARS, as_size, printable
from apps.console.shown import links
from apps.console.shown.state import Chip
from apps.console.shown.words import FEW, span

if TYPE_CHECKING:
    from apps.audit.models import Event

register = template.Library()

DASH = "–"
MINUTE_S = 60
LINE_CHARS = 160
_NAMES = re.compile(r"`(?! )([^`\n]{1,80})(?<! )`")


def relative(at: datetime, now: datetime) -> str:
    """`3 min ago` or `in 3 min`."""
    seconds = (now - at).total_seconds()
    if seconds < -1:
        return f"in {span(-seconds)}"
    return "now" if seconds < 1 else f"{span(seconds)} ago"


@register.filter
def subject_address(event: "Event") -> str:
    """Where the subject of an event in the audit has its page; empty where it has none."""
    return links.subject_address(event.subject_kind, event.subject, event.model)


@register.filter
def ago(at: datetime | None) -> str | SafeString:
    """A moment, relative, with the absolute one on hover; the page's script keeps it true."""
    if at is None:
        return DASH
    return _time(at, "data-relative", relative(at, timezone.now()))


@register.filter
def since(at: datetime | None) -> str | SafeString:
    """How long something has been going on; the page's script keeps counting."""
    if at is None:
        return DASH
    return _time(at, "data-since", span((timezone.now() - at).total_seconds()))


@register.filter
def left(at: datetime) -> SafeString:
    """How long something still takes, in all likelihood; the page's script counts down, and not below nothing."""
    seconds = (at - timezone.now()).total_seconds()
    return _time(at, "data-left", f"about {span(seconds)} left" if seconds >= 1 else "any moment")


def _time(at: datetime, how: str, text: str) -> SafeString:
    utc = at.astimezone(UTC)
    return format_html(
        '<time class="nowrap" datetime="{}" title="{}" {}>{}</time>',
        utc.isoformat(timespec="milliseconds"),
        f"{utc:%Y-%m-%d %H:%M:%S} UTC",
        how,
        text,
    )


@register.filter
def duration(seconds: float | None) -> str:
    """A length of time: `0.04 s`, `3.2 s`, `2 min`."""
    if seconds is None:
        return DASH
    if seconds < MINUTE_S:
        return f"{seconds:.2f} s" if seconds < 1 else f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), MINUTE_S)
    return f"{minutes} min {rest} s" if minutes < FEW and rest else span(seconds)


@register.filter
def size(count: int | None) -> str:
    """Bytes in the unit that fits."""
    return DASH if count is None else as_size(count)


@register.filter
def milliseconds(microseconds: float | None) -> str:
    """Microseconds written as milliseconds, three digits."""
    return DASH if microseconds is None else f"{microseconds / 1000:.3g}"


@register.filter
def cut(text: object) -> str:
    """Foreign text made safe to show: no control characters, cut to a screenful."""
    return printable(str(text or ""), limit=SHOWN_CHARS)


@register.filter
def first_line(text: object) -> str:
    """The first line of foreign text, cut to what fits beside other things."""
    lines = printable(str(text or ""), limit=SHOWN_CHARS).strip().splitlines() or [""]
    return lines[0] if len(lines[0]) <= LINE_CHARS else f"{lines[0][: LINE_CHARS - 1]}…"


@register.filter
def code(text: object) -> SafeString:
    """Words of ours, with the names that stand between backticks set as code."""
    return mark_safe(_NAMES.sub(r"<code>\1</code>", conditional_escape(str(text or ""))))  # noqa: S308 - escaped before


@register.filter
def is_long(text: object) -> bool:
    """Whether `first_line` leaves something out."""
    return first_line(text) != str(text or "").strip()


@register.filter
def words(name: object) -> str:
    """A name of ours as words: `await_ready` is `await ready`."""
    return str(name).replace("_", " ")


@register.filter
def plain(number: float | None) -> str:
    """A number as scripts read it, whatever the language."""
    return "" if number is None else f"{number:g}"


@register.filter
def theme(cookies: Mapping[str, str]) -> str:
    """The theme chosen by switch; empty while the system decides."""
    chosen = cookies.get("conch-theme", "") if cookies else ""
    return chosen if chosen in ("light", "dark") else ""


@register.filter
def short(digest: str) -> str:
    """The beginning of a digest or commit."""
    return digest[:12]


@register.simple_tag
def chip(shown: Chip) -> SafeString:
    """A state as a chip: its sign, its colour and, for those who hear the page, its words."""
    return _chip(shown)


@lru_cache(maxsize=8_192)
def _chip(shown: Chip) -> SafeString:
    if shown.url:
        return format_html(
            '<a class="chip is-{}" href="{}" title="{}" aria-label="{}">{}</a>',
            shown.tone,
            shown.url,
            shown.says,
            shown.says or shown.label,
            shown.label,
        )
    return format_html('<span class="chip is-{}" title="{}">{}</span>', shown.tone, shown.says, shown.label)
