"""Prometheus's answers, shared by everybody who looks: many viewers cost what one does.

One question is asked once per process at a time and its answer kept for a few seconds, in this process and in the
shared cache. When its window moves on, Prometheus is asked for the new points alone. While it does not answer, one
question at a time tries again and all others are told at once.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from time import monotonic, time

from django.conf import settings

from apps.metrics.continuing import Known
from apps.metrics.credentials import NOBODY, Credentials
from apps.metrics.errors import PrometheusFailed, PrometheusTimeout, PrometheusUnreachable
from apps.metrics.prometheus import Prometheus, Reply
from apps.metrics.shared_cache import SharedCache
from apps.metrics.windows import Window, keep_s

REST_AFTER_FAILURE_S = 4.0
AT_ONCE = 32
_MOST_KEPT = 512


class Answers:
    """What one Prometheus said lately."""

    def __init__(
        self, url: str, *, credentials: Credentials = NOBODY, rest_after_failure_s: float = REST_AFTER_FAILURE_S
    ) -> None:
        self._asked_of = f"{url} {credentials.headers}"
        self._cache = SharedCache()
        self._rest_after_failure_s = rest_after_failure_s
        self._prometheus = Prometheus(url, credentials=credentials)
        self._lock = Lock()
        self._kept: dict[str, tuple[float, Future[Reply]]] = {}
        self._known: OrderedDict[tuple[str, int, int, int], Known] = OrderedDict()
        self._failure: PrometheusFailed | None = None
        self._rests_until = 0.0
        self._is_trying_again = False

    def over(self, promql: str, window: Window) -> Reply:
        """The answer of a few seconds ago or a fresh one; PrometheusFailed."""
        key = hashlib.sha256(f"{self._asked_of} {promql} {window}".encode()).hexdigest()
        with self._lock:
            until, future = self._kept.get(key, (0.0, None))
            is_mine = future is None or until < monotonic()
            if future is None or is_mine:
                future = Future()
                self._forget_old()
                self._kept[key] = (float("inf"), future)
        if is_mine:
            try:
                self._fill(future, lambda: self._fetch(key, promql, window))
            finally:
                self._kept[key] = (monotonic() + keep_s(window, now_s=time()), future)
        return future.result()

    def _forget_old(self) -> None:
        if len(self._kept) >= _MOST_KEPT:
            self._kept = {key: kept for key, kept in self._kept.items() if kept[0] > monotonic()}

    @staticmethod
    def _fill(future: Future[Reply], fetch: Callable[[], Reply]) -> None:
        """Whoever waits on `future` gets the answer, or what went wrong: nobody waits for ever."""
        try:
            future.set_result(fetch())
        except BaseException as error:
            future.set_exception(error)
            if not isinstance(error, PrometheusFailed):
                raise

    def _fetch(self, key: str, promql: str, window: Window) -> Reply:
        known = self._cache.get(key)
        if known is None:
            known = self._continued(promql, window) or Known(window, self._ask(promql, window), whole_at_s=time())
            self._cache.put(key, known, keep_s=keep_s(window, now_s=time()))
        self._remember(promql, known)
        return known.reply

    def _continued(self, promql: str, window: Window) -> Known | None:
        """What is known, brought up to date; None when nothing known leads there."""
        with self._lock:
            known = self._known.get(_line_of(promql, window))
        if known is None or not known.serves(window, now_s=time()):
            return None
        return known.joined(self._ask(promql, known.missing(window)), window)

    def _remember(self, promql: str, known: Known) -> None:
        """Of each line of windows the last; of all lines those that were looked at last."""
        if not known.can_go_on:
            return
        line = _line_of(promql, known.window)
        with self._lock:
            self._known[line] = known
            self._known.move_to_end(line)
            while len(self._known) > _MOST_KEPT:
                self._known.popitem(last=False)

    def _ask(self, promql: str, window: Window) -> Reply:
        self._ask_leave()
        failure: PrometheusFailed | None = None
        try:
            return self._prometheus.over(promql, window)
        except (PrometheusUnreachable, PrometheusTimeout) as error:
            failure = error
            raise
        finally:
            self._note(failure)

    def _ask_leave(self) -> None:
        """Raise the last failure again while Prometheus rests, or while another question tries."""
        with self._lock:
            if self._failure is None:
                return
            if self._is_trying_again or monotonic() < self._rests_until:
                raise self._failure.with_traceback(None)
            self._is_trying_again = True

    def _note(self, failure: PrometheusFailed | None) -> None:
        with self._lock:
            self._failure, self._is_trying_again = failure, False
            self._rests_until = monotonic() + self._rest_after_failure_s


class Batch:
    """Questions asked at the same time: all of them cost what the slowest one does."""

    def __init__(self, asked: Answers, questions: Iterable[tuple[str, Window]]) -> None:
        self._asked = asked
        self._waiting = {question: _pool.submit(asked.over, *question) for question in dict.fromkeys(questions)}

    def over(self, promql: str, window: Window) -> Reply:
        """The answer, waited for; what was not among the questions is asked now. PrometheusFailed."""
        waiting = self._waiting.get((promql, window))
        return self._asked.over(promql, window) if waiting is None else waiting.result()


def _line_of(promql: str, window: Window) -> tuple[str, int, int, int]:
    """Windows of this length whose points fall together: each continues the one before."""
    return promql, window.step_s, window.end_s % window.step_s, len(window)


_pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="charts")
_answers: dict[tuple[str, Credentials], Answers] = {}


def answers() -> Answers:
    """Those of the Prometheus that the settings name, as whom they name."""
    url, credentials = settings.CONCH["prometheus_url"], Credentials.of(settings.CONCH)
    found = _answers.get((url, credentials))
    return found or _answers.setdefault((url, credentials), Answers(url, credentials=credentials))
