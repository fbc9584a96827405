"""What the environment tells Conch. The only place that reads environment variables."""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

BASE_DIR = Path(__file__).resolve().parent.parent
# As RFC 9110 has them, of what is not empty and plain ASCII.
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_HEADER_VALUE = re.compile(r"[ -~]+")


@dataclass(frozen=True, slots=True)
class Setting:
    """One environment variable: its default and what it is for (docs/operations.md lists them all)."""

    name: str
    default: str
    purpose: str


SETTINGS = (
    Setting("CONCH_HOME", str(BASE_DIR / ".conch"), "state folder of the embedded stack"),
    Setting("CONCH_SECRET_KEY", "", "signs sessions and seals control keys; required"),
    Setting("CONCH_DEBUG", "0", "1 shows Django's own error pages; never in production"),
    Setting("CONCH_DATABASE_URL", "", "sqlite:////path or postgresql://user:password@host:port/name"),
    Setting("CONCH_BROKER_URL", "redis://127.0.0.1:6379/0", "broker and cache: redis:// or redis+socket:///path"),
    Setting("CONCH_PROMETHEUS_URL", "http://127.0.0.1:9090", "where charts are asked for"),
    Setting("CONCH_PROMETHEUS_TOKEN", "", "bearer token for it"),
    Setting("CONCH_PROMETHEUS_TOKEN_FILE", "", "file that holds that token instead, read for each question"),
    Setting(
        "CONCH_PROMETHEUS_HEADERS", "", "headers sent to it, as X-Scope-OrgID=vision for a tenant; comma between two"
    ),
    Setting("CONCH_PROMETHEUS_LINK", "", "where people's browsers find Prometheus; charts link there when set"),
    Setting("CONCH_GRAFANA_LINK", "", "the dashboard Conch generates, in people's Grafana; charts link there when set"),
    Setting("CONCH_SCRAPE_INTERVAL_S", "15", "how often Prometheus scrapes the servers; rates span four"),
    Setting("CONCH_ALLOWED_HOSTS", "127.0.0.1,localhost,[::1]", "host names the web server answers to"),
    Setting("CONCH_TRUSTED_ORIGINS", "", "origins (https://host) trusted for forms behind a proxy"),
    Setting("CONCH_SECURE_COOKIES", "0", "1 sends cookies over HTTPS only; set it wherever TLS ends in front"),
    Setting("CONCH_ARTIFACTS_DIR", "", "where versions' bytes are kept; default $CONCH_HOME/artifacts"),
    Setting("CONCH_MAX_UPLOAD_BYTES", str(16 * 2**30), "largest upload taken"),
    Setting("CONCH_OPERATOR_MAX_UPLOAD_BYTES", "0", "largest upload taken from operators; 0: as large as from admins"),
    Setting(
        "CONCH_MAX_INCOMING_BYTES",
        str(64 * 2**30),
        "most bytes on their way in, by whatever door: announced, sent as a form, being fetched, not checked yet, "
        "waiting for a choice or a number. Room is promised to one at a time, on the disk too: what has still to come "
        "counts as taken. A fetch waits for room and says so (`incoming_full`, `store_full`)",
    ),
    Setting("CONCH_MAX_UNFINISHED_UPLOADS", "20", "most unfinished uploads of one person or token"),
    Setting(
        "CONCH_UPLOAD_EXPIRES_S",
        "86400",
        "how long an unfinished upload is kept after its last byte, and one of several versions for its choice",
    ),
    Setting("CONCH_FETCH_ROOTS", "", "folders of the workers' machines from which versions may be taken"),
    Setting("CONCH_FETCH_HOSTS", "", "hosts from which versions may be taken by https: name, name:port or *.domain"),
    Setting("CONCH_FETCH_NETWORKS", "", "private networks in which such hosts may lie, as 10.1.0.0/16"),
    Setting(
        "CONCH_FETCH_CERTIFICATES", "", "file of authorities that such hosts may be certified by, beside the system's"
    ),
    Setting("CONCH_FETCH_BUCKETS", "", "S3 buckets from which versions may be taken: bucket or bucket/prefix"),
    Setting("CONCH_S3_ENDPOINT_URL", "", "where S3 is; none: at Amazon"),
    Setting("CONCH_S3_REGION", "us-east-1", "region of the buckets"),
    Setting("CONCH_S3_ACCESS_KEY_ID", "", "key for S3; none: as boto3 finds one"),
    Setting("CONCH_S3_SECRET_ACCESS_KEY", "", "its secret"),
    Setting("CONCH_MLFLOW_URL", "", "tracking server that models:/name/3 is asked of"),
    Setting("CONCH_MLFLOW_TOKEN", "", "bearer token for it"),
    Setting("CONCH_MAX_UNPACKED_BYTES", str(32 * 2**30), "largest unpacked version taken"),
    Setting(
        "CONCH_MAX_RATIO", "200", "most bytes that come out of an archive's byte, above 100 MiB in all; 0: any number"
    ),
    Setting("CONCH_MAX_ENTRIES", "10000", "most files and folders in one upload"),
    Setting("CONCH_KEEP_VERSIONS", "0", "newest versions of a model whose bytes are kept; 0: all; a model may differ"),
    Setting("CONCH_LEASE_S", "15", "how long a worker may be silent before another takes over its run"),
    Setting("CONCH_OBSERVE_EVERY_S", "5", "how often every server is asked what it serves"),
    Setting("CONCH_SWEEP_EVERY_S", "5", "how often what is due or stuck is woken"),
    Setting("CONCH_LOG_LEVEL", "INFO", "Python's log level"),
)
_DEFAULTS = {setting.name: setting.default for setting in SETTINGS}


def text(name: str) -> str:
    """The variable, or its documented default."""
    return os.environ.get(name) or _DEFAULTS[name]


def number(name: str) -> int:
    """The variable as a whole number."""
    try:
        return int(text(name))
    except ValueError as error:
        raise ImproperlyConfigured(f"{name}={text(name)!r} is not a whole number") from error


def flag(name: str) -> bool:
    """The variable as yes or no."""
    return text(name).lower() in {"1", "true", "yes"}


def names(name: str) -> list[str]:
    """The variable as a comma-separated list."""
    return [part.strip() for part in text(name).split(",") if part.strip()]


def headers(name: str) -> dict[str, str]:
    """The variable as a comma-separated list of NAME=value, each of which can be sent as an HTTP header."""
    found = [part.partition("=") for part in names(name)]
    told = {key.strip(): value.strip() for key, _, value in found}
    if not all(_HEADER_NAME.fullmatch(key) and _HEADER_VALUE.fullmatch(value) for key, value in told.items()):
        raise ImproperlyConfigured(
            f"{name} is not a list of NAME=value with a comma between two, or holds what no header can"
        )
    return told


def home() -> Path:
    """The state folder."""
    return Path(text("CONCH_HOME"))


def database(url: str) -> dict[str, Any]:
    """Django's DATABASES entry for `url`: SQLite tuned for one writer at a time, or PostgreSQL."""
    parts = urlsplit(url or f"sqlite:///{home() / 'conch.sqlite3'}")
    if parts.scheme == "sqlite":
        return {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": unquote(parts.path),
            "OPTIONS": {
                "transaction_mode": "IMMEDIATE",
                "timeout": 20,
                "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
            },
        }
    if parts.scheme in {"postgres", "postgresql"}:
        return {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": unquote(parts.path.lstrip("/")),
            "USER": unquote(parts.username or ""),
            "PASSWORD": unquote(parts.password or ""),
            "HOST": unquote(parts.hostname or ""),
            "PORT": str(parts.port or ""),
            "CONN_MAX_AGE": 60,
            "CONN_HEALTH_CHECKS": True,
            # A rollout with all it is about is a join of nine tables: ordering them took 23 ms, and reading them 0.5.
            "OPTIONS": {"connect_timeout": 5, "options": "-c join_collapse_limit=5"},
        }
    raise ImproperlyConfigured(f"CONCH_DATABASE_URL: {parts.scheme!r} is neither sqlite nor postgresql")


def secret_key() -> str:
    """The signing key; there is no default, so that no two installations share one."""
    key = text("CONCH_SECRET_KEY")
    if not key:
        raise ImproperlyConfigured(
            "CONCH_SECRET_KEY is not set. Make one with: python -c 'import secrets; print(secrets.token_urlsafe(50))'"
        )
    return key
