"""A page of charts: how long against its slowest query, what many viewers cost Prometheus, what a refresh weighs."""

import http.client
import json
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import Any
from urllib.parse import urlencode

from bench.clients import Traffic
from bench.figures import Figure
from bench.slow_prometheus import Asked, slow_prometheus
from bench.stack import ENVIRONMENT, Stack
from demo.parts.prometheus import HttpDiscovery, Prometheus
from demo.programs import web

MODEL = "echo_charts"
VIEWERS = 100
PAGES = 10
TRAFFIC_S = 30
SCRAPED_WITHIN_S = 60


def measure(stack: Stack) -> tuple[list[Figure], dict[str, Any]]:
    """Against a real Prometheus that scraped the stack's servers, and takes 50 to 400 ms longer for each query."""
    stack.add_model(MODEL, versions=1)
    stack.promote(MODEL, 1)
    prometheus = Prometheus(
        stack.home.state / "prometheus",
        port=stack.home.port("prometheus"),
        packages=stack.home.packages,
        discovery=HttpDiscovery(
            f"http://127.0.0.1:{stack.port}/api/v1/sd/prometheus", stack.home.secret_file("sd_token")
        ),
    )
    slow, port = stack.home.port("slow_prometheus"), stack.home.port("charts_web")
    variables = {**stack.variables, "CONCH_PROMETHEUS_URL": f"http://127.0.0.1:{slow}"}
    program = web(stack.home, port=port, variables=variables)
    with slow_prometheus(prometheus.url, port=slow) as asked:
        try:
            prometheus.start()
            program.start()
            with Traffic(stack.home.state, stack.tritons, MODEL):
                time.sleep(TRAFFIC_S)
                return _measure(_Viewer(stack, port), asked)
        finally:
            program.stop()
            prometheus.stop()


def _measure(viewer: "_Viewer", asked: Asked) -> tuple[list[Figure], dict[str, Any]]:
    _until_scraped(viewer)
    viewer.board(_ago(600))
    pages = [_page(viewer, asked, at=_ago(300 + 60 * number)) for number in range(PAGES)]
    until = _ago(200)
    asked.taken()
    viewer.board(until)
    one = len(asked.taken())
    viewer.board(_ago(100))
    alone = len(asked.taken())
    together = _ago(50)
    with ThreadPoolExecutor(VIEWERS) as viewers:
        list(viewers.map(lambda _: viewer.board(together), range(VIEWERS)))
    many = len(asked.taken())
    whole, _ = viewer.board(None)
    document = json.loads(whole)
    known = {"since_s": document["window"]["end_s"], "shape": document["shape"]}
    tail, _ = viewer.board(None, **known)
    ratios = [page["page_ms"] / page["slowest_query_ms"] for page in pages]
    figures = [
        Figure("charts_page_to_slowest_query_ratio", round(median(ratios), 3), "", 1.3),
        Figure("charts_hundred_viewers_queries", many, "", alone, {"one viewer": one}),
        Figure("charts_refresh_to_page_bytes_ratio", round(len(tail) / len(whole), 3), "", 0.5),
    ]
    return figures, {"pages": pages, "charts": len(document["charts"]), "page_bytes": len(whole)}


def _until_scraped(viewer: "_Viewer") -> None:
    """Before Prometheus has scraped anything there is little to ask, and what fails is not asked again at once."""
    deadline = time.monotonic() + SCRAPED_WITHIN_S
    while not any(chart["figure"] for chart in json.loads(viewer.board(None)[0])["charts"]):
        if time.monotonic() > deadline:
            raise RuntimeError(f"Prometheus has scraped nothing in {SCRAPED_WITHIN_S} s")
        time.sleep(1)


def _page(viewer: "_Viewer", asked: Asked, *, at: str) -> dict[str, float]:
    """One page that nobody has asked for yet."""
    asked.taken()
    told, page_ms = viewer.board(at)
    took = [ms for _, ms in asked.taken()]
    if not took:
        raise RuntimeError(f"nothing was asked for this page: {told[:2_000].decode(errors='replace')}")
    return {"page_ms": round(page_ms, 1), "slowest_query_ms": round(max(took), 1), "queries": len(took)}


def _ago(seconds: int) -> str:
    return (datetime.now(UTC) - timedelta(seconds=seconds)).isoformat()


class _Viewer:
    """Somebody who looks at the model's page of charts."""

    def __init__(self, stack: Stack, port: int) -> None:
        token = stack.home.secret_file("api_token").read_text().strip()
        self._headers, self._port = {"Authorization": f"Bearer {token}"}, port

    def board(self, until: str | None, **known: Any) -> tuple[bytes, float]:
        """The answer, and milliseconds from the first byte sent to the last received."""
        asked = {"model": MODEL, "environment": ENVIRONMENT, **({"until": until} if until else {}), **known}
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        begin_s = time.perf_counter()
        connection.request("GET", f"/api/v1/boards/model?{urlencode(asked)}", headers=self._headers)
        answer = connection.getresponse()
        body = answer.read()
        took_ms = (time.perf_counter() - begin_s) * 1000
        connection.close()
        if answer.status != 200:
            raise RuntimeError(f"the board answered {answer.status}: {body[:200]!r}")
        return body, took_ms
