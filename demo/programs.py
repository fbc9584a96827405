"""Conch's own processes: the web server, the worker, and the commands run before them."""

import os
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from demo.home import REPOSITORY, Home
from demo.parts.part import Part
from demo.parts.process import Child
from demo.parts.prometheus import Prometheus
from demo.parts.valkey import Valkey

WEB_THREADS = 16
WORKER_THREADS = 16
RUN_ONCE_TIMEOUT_S = 300


class Program(Part):
    """A Python program of this repository, logging into the state folder."""

    def __init__(
        self,
        name: str,
        words: Sequence[str | Path],
        *,
        log: Path,
        variables: Mapping[str, str],
        is_ready: Callable[[], bool] = lambda: True,
        stop_timeout_s: float = 8.0,
    ) -> None:
        self.name = name
        self.stop_timeout_s = stop_timeout_s
        self._words = words
        self._log = log
        self._variables = variables
        self._is_ready = is_ready

    def make_child(self) -> Child:
        """The program with this repository as its working directory."""
        command = [sys.executable, *self._words]
        return Child(self.name, command, log=self._log, env=self._variables, cwd=REPOSITORY)

    def is_ready(self) -> bool:
        """What the maker of this program said."""
        return self._is_ready()


def settings(home: Home, *, valkey: Valkey, prometheus: Prometheus) -> dict[str, str]:
    """The process environment that Conch's settings read."""
    # Compiled modules are kept: without them each start compiles all of Django again.
    inherited = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    return {
        **inherited,
        "CONCH_HOME": str(home.state),
        "CONCH_SECRET_KEY": home.secret("secret_key"),
        "CONCH_DATABASE_URL": os.environ.get("CONCH_DATABASE_URL") or f"sqlite:///{home.state / 'conch.sqlite3'}",
        "CONCH_BROKER_URL": valkey.broker_url,
        "CONCH_PROMETHEUS_URL": prometheus.url,
        "CONCH_SCRAPE_INTERVAL_S": str(prometheus.scrape_interval_s),
        "CONCH_FETCH_ROOTS": str(home.state / "digits"),
        "CONCH_ARTIFACTS_DIR": str(home.state / "artifacts"),
        "DJANGO_SETTINGS_MODULE": "controlplane.settings",
        "PYTHONUNBUFFERED": "1",
    }


def web(home: Home, *, port: int, variables: Mapping[str, str]) -> Program:
    """Gunicorn: one process, threads, so that a long poll costs a thread only."""
    words = ["-m", "gunicorn", "controlplane.wsgi", "--bind", f"127.0.0.1:{port}", "--workers", "1"]
    words += ["--worker-class", "gthread", "--threads", str(WEB_THREADS), "--graceful-timeout", "3"]
    words += ["--timeout", "120", "--keep-alive", "15", "--no-control-socket"]
    return Program(
        "web server",
        words,
        log=home.logs / "web.log",
        variables=variables,
        is_ready=lambda: answers_at_all(f"http://127.0.0.1:{port}/"),
    )


def worker(home: Home, *, variables: Mapping[str, str], beside: int = 0) -> Program:
    """Celery with threads, and the clock (beat) inside; the ones `beside` it have none: there is one clock."""
    name = f"worker-{beside}" if beside else "worker"
    words = ["-m", "celery", "-A", "controlplane", "worker", "--pool", "threads"]
    words += ["--concurrency", str(WORKER_THREADS), *([] if beside else _clock(home))]
    words += ["--without-gossip", "--without-mingle", "--loglevel", "INFO", "--hostname", f"{name}@%h"]
    log = home.logs / f"{name}.log"
    start_bytes = log.stat().st_size if log.exists() else 0
    return Program(
        name,
        words,
        log=log,
        variables=variables,
        is_ready=lambda: log.exists() and b" ready." in log.read_bytes()[start_bytes:],
    )


def _clock(home: Home) -> list[str]:
    schedule = home.state / "beat"
    schedule.mkdir(exist_ok=True)
    return ["--beat", "--schedule", str(schedule / "schedule")]


def run_once(name: str, words: Sequence[str | Path], *, home: Home, variables: Mapping[str, str]) -> None:
    """Run a Python program of this repository to its end; PartDied with its last lines if it fails."""
    log = home.logs / f"{name}.log"
    log.unlink(missing_ok=True)
    child = Child(name, [sys.executable, *words], log=log, env=variables, cwd=REPOSITORY)
    child.start()
    child.finish(timeout_s=RUN_ONCE_TIMEOUT_S)


def answers_at_all(url: str) -> bool:
    """True when a GET gives any HTTP answer below 500."""
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code < 500
    except OSError:
        return False
