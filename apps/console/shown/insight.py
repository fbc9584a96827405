"""What Prometheus tells beyond charts, as people read it: cards, promises, advice."""

from dataclasses import dataclass

from apps.common.text import as_size
from apps.console.shown.words import span
from apps.deployments.selectors import Advice, Advised
from apps.metrics.budgets import Budget
from apps.metrics.cards import Card, Slice
from apps.metrics.diagnosis.judging import Number
from apps.metrics.labels import shown
from apps.metrics.pictures import Picture

WIDTH, HEIGHT, GAP = 640, 40, 4
USE_HEIGHT = 8
DAY_S, HOUR_S = 86_400, 3_600
# Above and below these, rounding would say that all is left, and nothing spent.
_ALL_BUT_WHOLE, _LEAST_SHARE = 0.995, 0.000_005
_SHARES = ("_use", "_share", "_fill")


@dataclass(frozen=True, slots=True)
class SliceShown:
    """One slice: where it stands in the picture, and its numbers in words."""

    name: str
    x: float
    width: float
    use_width: float
    memory_y: float
    memory_height: float
    use: str
    memory: str
    is_mine: bool
    is_unclear: bool
    remarks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CardShown:
    """One card."""

    title: str
    facts: tuple[str, ...]
    slices: tuple[SliceShown, ...]
    words: str


@dataclass(frozen=True, slots=True)
class DevicesShown:
    """All cards, and remarks about what is missing.

    Of a server nothing of it is shown where it has none, or where all there is to say is why Prometheus does not
    answer: its charts say that.
    """

    cards: tuple[CardShown, ...]
    remarks: tuple[str, ...]
    is_hidden: bool


def devices(found: Picture) -> DevicesShown:
    """The cards as a picture."""
    return DevicesShown(tuple(_card(card) for card in found.cards), found.remarks, found.is_without or found.is_unknown)


def _card(card: Card) -> CardShown:
    slices = tuple(_slices(card))
    title = " ".join(filter(None, (card.host, f"GPU {card.gpu or card.uuid}")))
    power = f"{shown(card.power_w)} W" if card.power_w is not None else "power unknown"
    facts = (card.name, card.uuid, power, "divided (MIG)" if card.is_divided else "whole")
    return CardShown(
        title=title,
        facts=tuple(filter(None, facts)),
        slices=slices,
        words="; ".join(f"{one.name}: use {one.use}, memory {one.memory}" for one in slices),
    )


def _slices(card: Card) -> list[SliceShown]:
    """Side by side, each as wide as its share of the card's memory."""
    whole = sum(one.weight for one in card.slices)
    room = WIDTH - GAP * (len(card.slices) - 1)
    found, x = [], 0.0
    for one in card.slices:
        width = one.weight / whole * room
        found.append(_slice(one, x=x, width=width))
        x += width + GAP
    return found


def _slice(one: Slice, *, x: float, width: float) -> SliceShown:
    inner = HEIGHT - USE_HEIGHT
    height = (one.share or 0) * inner
    return SliceShown(
        name=f"slice {one.instance} ({one.profile or 'profile unknown'})" if one.instance else "whole GPU",
        x=round(x, 1),
        width=round(width, 1),
        use_width=round(min(1.0, one.use or 0) * width, 1),
        memory_y=round(HEIGHT - height, 1),
        memory_height=round(height, 1),
        use="not known" if one.use is None else f"{one.use:.0%}",
        memory=_memory(one),
        is_mine=one.is_mine,
        is_unclear=one.is_unclear,
        remarks=one.remarks,
    )


def _memory(one: Slice) -> str:
    if one.used_bytes is None:
        return "not known"
    return as_size(one.used_bytes) + (f" of {as_size(one.total_bytes)}" if one.total_bytes else "")


@dataclass(frozen=True, slots=True)
class PromiseShown:
    """One promise in one environment."""

    environment: str
    promise: str
    left: str
    tone: str
    burn: str
    bad: str
    asked: str
    remark: str
    meter: int


def promise(budget: Budget) -> PromiseShown:
    """A budget as people read it."""
    over = f"{budget.window_s // DAY_S} d" if budget.window_s > DAY_S else "24 h"
    is_errors = budget.promise == "errors"
    left = budget.left
    return PromiseShown(
        environment=budget.environment,
        promise=f"errors ≤ {100 * budget.limit:.3g} %" if is_errors else f"p99 ≤ {budget.limit:g} ms",
        left=("not known" if budget.remark else "no requests") if left is None else _left(left),
        tone="wait" if left is None else "bad" if left < 0 else "ok",
        burn=_burn(budget.burn),
        bad="" if budget.spent.share is None else _bad(budget, over, is_errors=is_errors),
        asked="" if budget.requests is None else f"{budget.requests:,.0f} requests",
        remark="; ".join(filter(None, (budget.remark, _coverage(budget)))),
        meter=0 if left is None else round(max(0.0, min(1.0, left)) * 100),
    )


def _left(left: float) -> str:
    """What is spent a little is not whole."""
    return "> 99%" if _ALL_BUT_WHOLE <= left < 1 else f"{max(left, -9.99):.0%}"


def _bad(budget: Budget, over: str, *, is_errors: bool) -> str:
    share = budget.spent.share or 0.0
    shown_share = "< 0.001%" if 0 < share < _LEAST_SHARE else f"{share:.3%}"
    return f"{shown_share} {'failed' if is_errors else 'of the time above it'} in {over}"


def _burn(burn: float | None) -> str:
    if burn is None:
        return "no requests in the last hour"
    return "nothing in the last hour" if burn == 0 else f"{shown(burn)} times as fast as allowed, last hour"


def _coverage(budget: Budget) -> str:
    """Said while Prometheus has not seen the whole time: what is left may be less."""
    if budget.known_s is None or budget.known_s >= budget.window_s - HOUR_S:
        return ""
    return f"Prometheus knows only the last {span(budget.known_s)}"


@dataclass(frozen=True, slots=True)
class AdviceShown:
    """One finding in words."""

    title: str
    model: str
    server: str
    numbers: tuple[str, ...]
    meaning: str
    change: str
    overlay: str
    apply_url: str
    source: str


@dataclass(frozen=True, slots=True)
class AdvisedShown:
    """All findings; `unjudged` says which rules lack what."""

    found: tuple[AdviceShown, ...]
    unjudged: tuple[str, ...]
    problem: str


def advised(found: Advised) -> AdvisedShown:
    """Findings as people read them."""
    return AdvisedShown(
        tuple(_advice(one) for one in found.advice),
        tuple(
            f"{rule.title}: not judged, {measure.replace('_', ' ')} is not known" for rule, measure in found.unjudged
        ),
        found.problem,
    )


def _advice(one: Advice) -> AdviceShown:
    return AdviceShown(
        title=one.rule.title,
        model=one.model,
        server=one.server,
        numbers=tuple(_number(number) for number in one.numbers),
        meaning=one.rule.meaning,
        change=one.rule.change,
        overlay=", ".join(one.overlay),
        apply_url=one.apply_url,
        source=one.rule.source,
    )


def _number(number: Number) -> str:
    value = f"{number.value:.0%}" if number.measure.endswith(_SHARES) else shown(number.value)
    if number.measure.endswith("_bytes"):
        return f"{as_size(number.value)} {number.means.removeprefix('bytes ')}"
    return f"{value} {number.means}"
