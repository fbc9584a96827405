"""Over which time charts are shown, which they are, and where else they can be looked at."""

from dataclasses import dataclass
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest

from apps.metrics.catalogue import Chart, Page, charts_on

RANGES = (
    ("900", "15 min"),
    ("3600", "1 h"),
    ("21600", "6 h"),
    ("86400", "24 h"),
    ("604800", "7 d"),
    ("2592000", "30 d"),
)


@dataclass(frozen=True, slots=True)
class Board:
    """All charts of a page: where they are asked for, about what, and where else the same can be seen."""

    url: str
    charts: tuple[Chart, ...]
    about: tuple[tuple[str, str], ...]
    prometheus: str
    grafana: str


def chosen_range(request: HttpRequest, *, splits: bool = False) -> dict[str, object]:
    """The ranges there are and the one asked for, in seconds; with `splits`, whether lines are per server."""
    asked = request.GET.get("range", "")
    return {
        "ranges": RANGES,
        "range_s": asked if asked in dict(RANGES) else RANGES[0][0],
        "splits": splits,
        "per_server": request.GET.get("per_server") == "1",
    }


def board(page: Page, request: HttpRequest, **about: str) -> Board:
    """The charts of `page` about an environment, model, server, or rollout, over the range asked for."""
    chosen = chosen_range(request)
    asked = {name: value for name, value in about.items() if value} | {"range_s": chosen["range_s"]}
    if chosen["per_server"]:
        asked["per_server"] = "1"
    return Board(
        url=f"/api/v1/boards/{page}?{urlencode(asked)}",
        charts=tuple(charts_on(page)),
        about=tuple((name, value) for name, value in about.items() if value),
        prometheus=str(settings.CONCH["prometheus_link"]),
        grafana=_grafana(about),
    )


def _grafana(about: dict[str, str]) -> str:
    """The generated dashboard about the same; empty when there is no Grafana."""
    link = str(settings.CONCH["grafana_link"])
    variables = {f"var-{name}": about.get(name) or "$__all" for name in ("environment", "model", "server")}
    return f"{link}{'&' if '?' in link else '?'}{urlencode(variables)}" if link else ""
