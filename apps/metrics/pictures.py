"""The cards of a server, or all there are, as Prometheus knows them now."""

from dataclasses import dataclass
from datetime import datetime

from apps.fleet import selectors as fleet
from apps.metrics.answers import answers
from apps.metrics.cards import Card, cards_of
from apps.metrics.devices import devices_of
from apps.metrics.errors import PrometheusFailed
from apps.metrics.questions import NOWHERE, Question, scrape_interval_s, server_devices, window_of
from apps.metrics.windows import latest, rate_window_s
from apps.serving import dcgm
from apps.serving.signals import Selection


@dataclass(frozen=True, slots=True)
class Picture:
    """Cards, and what to know about them in words; `is_without`: the server has no GPU that anybody tells of."""

    cards: tuple[Card, ...]
    remarks: tuple[str, ...]
    is_without: bool = False


def picture(*, server: str = "", now: datetime) -> Picture:
    """The cards whole, with a server's own slices told apart; whatever Prometheus does there is an answer."""
    window = window_of(Question(), now=now)
    devices = server_devices(server, window) if server else ()
    unread = devices_of(fleet.get_server(server).labels).unread if server else ()
    selection = Selection(devices=devices, window_s=rate_window_s(window, scrape_interval_s=scrape_interval_s()))
    try:
        reply = answers().over(dcgm.pictured(selection), latest(window))
    except PrometheusFailed as error:
        return Picture((), (*unread, error.message))
    cards = cards_of(reply.series, mine=devices)
    return Picture(cards, unread, is_without=devices == (NOWHERE,) and not (cards or unread))
