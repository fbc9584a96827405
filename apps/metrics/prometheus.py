"""The door to Prometheus: the only client of it. A value, no value and each kind of failure are told apart."""

import math
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from time import sleep
from typing import Any

import requests
from prometheus_api_client import PrometheusConnect
from prometheus_api_client.exceptions import PrometheusApiClientException
from requests.adapters import Retry
from requests.utils import get_netrc_auth
from urllib3.exceptions import ProtocolError

from apps.common.text import printable
from apps.metrics.credentials import NOBODY, Credentials, without_secret
from apps.metrics.errors import (
    PrometheusFailed,
    PrometheusRefusedConch,
    PrometheusRefusedQuery,
    PrometheusTimeout,
    PrometheusUnreachable,
    PrometheusUnwell,
    QueryTooSlow,
)
from apps.metrics.receiving import AnswerTooLong, receive
from apps.metrics.windows import MAX_POINTS, Window

CONNECT_TIMEOUT_S = 1.0
READ_TIMEOUT_S = 2.0
# From its first byte to its last; a board's whole answer is far below.
BODY_TIMEOUT_S = 5.0
MOST_BYTES = 64 << 20
# Prometheus gives up first, so that a query too heavy is told apart from a Prometheus that hangs.
EVALUATION_TIMEOUT_S = 1.8
POST_FROM_CHARS = 1_500
PAUSE_BEFORE_RETRY_S = 0.1
_REASON_CHARS = 300
_MOST_WARNINGS = 10
_BUSY = {502, 503, 504}
_NOT_LET_IN = {401, 403}
_WHO_ASKS = "CONCH_PROMETHEUS_TOKEN or ..._TOKEN_FILE, and CONCH_PROMETHEUS_HEADERS for a tenant"
_OUT_OF_TIME = {"timeout", "canceled"}
# What reading a document that is not as promised can end in.
_NOT_IN_FORMAT = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)


@dataclass(frozen=True, slots=True)
class Series:
    """One line of an answer: its labels, and a value or None at each point of the grid asked for."""

    labels: Mapping[str, str]
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Reply:
    """What Prometheus found; no series means no data, which is not zero. `warnings` are its own words.

    `clock_ahead_s` is how far its clock is ahead of Conch's; below 0, behind.
    """

    series: tuple[Series, ...]
    warnings: tuple[str, ...] = ()
    clock_ahead_s: float = 0.0


class _Session(requests.Session):
    """Sends a POST's parameters in its body, and keeps the last response: the client drops its warnings.

    What the environment says of proxies, certificates and .netrc is read once: it costs more than all else.
    """

    last: requests.Response | None = None

    def __init__(self, url: str, credentials: Credentials, *, body_timeout_s: float) -> None:
        super().__init__()
        self.credentials, self._body_timeout_s = credentials, body_timeout_s
        surroundings = self.merge_environment_settings(url, {}, None, None, None)
        self.proxies, self.verify = surroundings["proxies"], surroundings["verify"]
        self.headers.update(credentials.headers)
        self.auth, self.trust_env = credentials.sign if credentials.has_token else get_netrc_auth(url), False

    def rebuild_auth(self, prepared_request: requests.PreparedRequest, response: requests.Response) -> None:
        """To wherever else a redirect leads, nothing goes that says who asks: requests takes off the token alone."""
        super().rebuild_auth(prepared_request, response)  # type: ignore[no-untyped-call]
        way = str(response.request.url), str(prepared_request.url)
        if self.should_strip_auth(*way):  # type: ignore[no-untyped-call]
            for name, _ in self.credentials.headers:
                prepared_request.headers.pop(name, None)

    def request(self, method: str | bytes, url: str | bytes, **options: Any) -> requests.Response:  # type: ignore[override]
        """As requests does it; once more where a connection that was kept open turns out to be closed."""
        is_kept, self.last = self.last is not None, None
        options["stream"] = True
        if method == "POST":
            options["data"] = options.pop("params", None)
        try:
            found = super().request(method, url, **options)
        except requests.ConnectionError as error:
            if not (is_kept and error.args and isinstance(error.args[0], ProtocolError)):
                raise
            self.close()
            found = super().request(method, url, **options)
        receive(found, within_s=self._body_timeout_s, most_bytes=MOST_BYTES)
        self.last = found
        return found


class Prometheus:
    """Asks one Prometheus; every call has a deadline. Each thread keeps its connections to it open."""

    def __init__(
        self,
        url: str,
        *,
        credentials: Credentials = NOBODY,
        connect_timeout_s: float = CONNECT_TIMEOUT_S,
        read_timeout_s: float = READ_TIMEOUT_S,
        body_timeout_s: float = BODY_TIMEOUT_S,
    ) -> None:
        self._url, self._credentials = url.rstrip("/"), credentials
        self._timeout_s = (connect_timeout_s, read_timeout_s)
        self._body_timeout_s = body_timeout_s
        self._evaluation_s = min(EVALUATION_TIMEOUT_S, 0.9 * read_timeout_s)
        self._own = threading.local()

    def over(self, promql: str, window: Window) -> Reply:
        """`promql` at every point of `window`; points without a value, NaN and infinities are None."""
        if len(window) > MAX_POINTS:
            raise PrometheusRefusedQuery(f"{len(window):,} points are more than Prometheus gives ({MAX_POINTS:,})")
        start, end = (datetime.fromtimestamp(second, tz=UTC) for second in (window.start_s, window.end_s))

        def call(client: Any) -> tuple[Series, ...]:
            rows = client.custom_query_range(
                promql,
                start,
                end,
                f"{window.step_s}",
                params={"timeout": f"{self._evaluation_s:g}"},
                timeout=self._timeout_s,
            )
            return tuple(Series(_labels(row["metric"]), _on_grid(row["values"], window)) for row in rows)

        return self._ask(call, method="POST" if len(promql) > POST_FROM_CHARS else "GET")

    def _ask(self, call: Callable[[Any], tuple[Series, ...]], *, method: str) -> Reply:
        """Ask once, and once more after a short pause when Prometheus says it is busy."""
        client, session = self._connected(method)
        series = _translated(lambda: call(client), session)
        if series is None:
            sleep(PAUSE_BEFORE_RETRY_S)
            series = _translated(lambda: call(client), session)
        if series is None:
            raise _failure(session)
        return Reply(series, _warnings(session), _clock_ahead_s(session, now=datetime.now(UTC)))

    def _connected(self, method: str) -> tuple[PrometheusConnect, _Session]:
        """This thread's client for that method."""
        kept: dict[str, tuple[PrometheusConnect, _Session]] = self._own.__dict__
        if method not in kept:
            session = _Session(self._url, self._credentials, body_timeout_s=self._body_timeout_s)
            client = PrometheusConnect(url=self._url, retry=Retry(0, read=False), session=session, method=method)
            kept[method] = client, session
        return kept[method]


def _translated(call: Callable[[], tuple[Series, ...]], session: _Session) -> tuple[Series, ...] | None:
    """The answer; None when Prometheus is busy; our own error for everything else."""
    try:
        return call()
    except PrometheusApiClientException as error:
        if _is_busy(session):
            return None
        raise _failure(session) from error
    except requests.Timeout as error:
        raise PrometheusTimeout("Prometheus did not answer in time") from error
    except requests.ConnectionError as error:
        raise PrometheusUnreachable(f"Prometheus did not answer: {_why(error)}") from error
    except AnswerTooLong as error:
        raise PrometheusUnwell(f"Prometheus answered with {error}") from error
    except (requests.RequestException, *_NOT_IN_FORMAT) as error:
        raise _failure(session) from error


def _is_busy(session: _Session) -> bool:
    return session.last is not None and session.last.status_code in _BUSY and not _is_out_of_time(_document(session))


def _is_out_of_time(document: Mapping[str, Any]) -> bool:
    return str(document.get("errorType", "")) in _OUT_OF_TIME


def _failure(session: _Session) -> PrometheusFailed:
    """What an answer that is no result means: refused, out of time or unwell, in Prometheus's own words."""
    if session.last is None:
        return PrometheusUnwell("Prometheus gave no answer that can be read")
    status, document = session.last.status_code, _document(session)
    reason = _said(session, document.get("error", ""))
    if status in _NOT_LET_IN:
        return _not_let_in(session, reason)
    if _is_out_of_time(document):
        return QueryTooSlow(f"Prometheus gave up on the query: {reason}")
    if document.get("status") == "error" and status < requests.codes.server_error:
        return PrometheusRefusedQuery(f"Prometheus refused the query: {reason or status}", reason=reason)
    if status == requests.codes.ok:
        reason = "not in its own format"
    return PrometheusUnwell(f"Prometheus answered {status}{': ' if reason else ''}{reason}")


def _not_let_in(session: _Session, reason: str) -> PrometheusRefusedConch:
    """Who asks is the matter, not what is asked. A proxy says why in plain text, or in a page that is left out."""
    said = session.last
    if not reason and said is not None and said.headers.get("Content-Type", "").startswith("text/plain"):
        reason = _said(session, said.text)
    status = f"{said.status_code} {_said(session, said.reason)}" if said is not None else ""
    return PrometheusRefusedConch(
        f"Prometheus refused Conch ({status}{': ' if reason else ''}{reason}). Check {_WHO_ASKS}."
    )


def _said(session: _Session, words: object) -> str:
    """Its own words, to be shown: without who asked. That is taken out first: cut short, it would not be found."""
    sent = session.last.request.headers if session.last is not None else {}
    return printable(without_secret(str(words), sent), limit=_REASON_CHARS)


def _document(session: _Session) -> dict[str, Any]:
    """The last answer's JSON object; empty when it is none."""
    try:
        document = session.last.json() if session.last is not None else {}
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _warnings(session: _Session) -> tuple[str, ...]:
    if session.last is None or b'"warnings"' not in session.last.content:
        return ()
    found = _document(session).get("warnings")
    return tuple(_said(session, warning) for warning in found[:_MOST_WARNINGS]) if isinstance(found, list) else ()


def _clock_ahead_s(session: _Session, *, now: datetime) -> float:
    """By the Date of its answer, to the second; 0 when it has none."""
    said = session.last.headers.get("Date", "") if session.last is not None else ""
    try:
        return (parsedate_to_datetime(said) - now).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return 0.0


def _why(error: BaseException) -> str:
    """The operating system's words for a broken connection, dug out of the layers around them."""
    seen: list[BaseException] = [error]
    for one in seen:
        if isinstance(one, OSError) and one.strerror:
            return one.strerror.lower()
        inner = (one.__cause__, one.__context__, getattr(one, "reason", None), *one.args)
        seen += [other for other in inner if isinstance(other, BaseException) and other not in seen]
    return "the connection broke"


def _labels(metric: Mapping[str, str]) -> dict[str, str]:
    """As Prometheus has them, and as they can be sent on: text, of which UTF-8 can be made."""
    for words in metric.items():
        "".join(words).encode()
    return dict(metric)


def _on_grid(samples: list[tuple[float, str]], window: Window) -> tuple[float | None, ...]:
    """Values at each point of the window: what Prometheus leaves out stays a gap."""
    known = {round(moment): _number(value) for moment, value in samples}
    return tuple(map(known.get, range(window.start_s, window.end_s + 1, window.step_s)))


def _number(text: str) -> float | None:
    value = float(text)
    return value if math.isfinite(value) else None
