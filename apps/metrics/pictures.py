"""The cards of a server, or all there are, as Prometheus knows them now."""

from dataclasses import dataclass
from datetime import datetime

from apps.fleet import selectors as fleet
from apps.metrics.answers import answers
from apps.metrics.cards import Card, cards_of
from apps.metrics.devices import devices_of
from apps.metrics.errors import PrometheusFailed
from apps.metrics.own_devices import NOWHERE, Own, cards_of_host, own_devices
from apps.metrics.questions import Question, scrape_interval_s, window_of
from apps.metrics.windows import Window, latest, rate_window_s
from apps.serving import dcgm
from apps.serving.signals import Selection


@dataclass(frozen=True, slots=True)
class Picture:
    """Cards, and what to know about them in words; `is_without`: the server has no GPU that anybody tells of.

    `is_unknown`: Prometheus did not answer, and there is nothing else to say.
    """

    cards: tuple[Card, ...]
    remarks: tuple[str, ...]
    is_without: bool = False
    is_unknown: bool = False


def picture(*, server: str = "", now: datetime) -> Picture:
    """The cards whole, with a server's own slices told apart; whatever Prometheus does there is an answer."""
    window = window_of(Question(), now=now)
    if not server:
        return _drawn((), Own(()), window)
    found = fleet.get_server(server)
    own = own_devices(found, window)
    if not own.devices:
        own = Own(cards_of_host(found, window) or (NOWHERE,))
    return _drawn(devices_of(found.labels).unread, own, window)


def _drawn(unread: tuple[str, ...], own: Own, window: Window) -> Picture:
    selection = Selection(devices=own.devices, window_s=rate_window_s(window, scrape_interval_s=scrape_interval_s()))
    try:
        reply = answers().over(dcgm.pictured(selection), latest(window))
    except PrometheusFailed as error:
        return Picture((), (*unread, error.message), is_unknown=not unread)
    cards = cards_of(reply.series, mine=own.devices, is_said=own.is_said or not own.devices)
    unclear = tuple(_unclear(card) for card in cards if card.is_unclear)
    return Picture(cards, (*unread, *unclear), is_without=own.devices == (NOWHERE,) and not (cards or unread))


def _unclear(card: Card) -> str:
    """What to do where nothing names the slice."""
    name = " ".join(filter(None, (card.host, f"GPU {card.gpu}")))
    where = card.uuid or f"{card.host}/{card.gpu}"
    numbers = " or ".join(one.instance for one in card.slices)
    return (
        f"{name} is divided, and nothing tells which of its slices, if any, this server uses: Triton knows whole cards "
        f"only. Say it with the server's label mig={where}/N, N being {numbers}: the GI ID that nvidia-smi shows where "
        "the server runs. In Kubernetes its label pod=namespace/name is enough where dcgm-exporter tells of pods."
    )
