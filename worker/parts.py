"""The health of Conch's own parts, as seen from where it matters: the worker."""

import shutil
from collections.abc import Callable
from datetime import datetime

from django.conf import settings
from django.core.cache import cache
from django.db import DatabaseError, connection
from django.utils import timezone
from redis.exceptions import RedisError

from apps.common.errors import ControlPlaneError
from apps.fleet import services as fleet
from apps.metrics import selectors as metrics

LOW_DISK_BYTES = 2**30


def check_itself(now: datetime) -> None:
    """Ask each part and keep the answer. That this runs at all says that beat, broker and worker do."""
    checks: dict[str, Callable[[], str]] = {
        "database": _database,
        "broker": _broker,
        "prometheus": _prometheus,
        "artifacts": _artifacts,
        "worker": str,
        "beat": str,
    }
    for name, check in checks.items():
        problem = check()
        fleet.record_part(name, is_well=not problem, message=problem, now=now)


def _database() -> str:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError as error:
        return str(error)
    return ""


def _broker() -> str:
    try:
        cache.set("conch:self-check", 1, timeout=60)
    except (RedisError, OSError) as error:
        return str(error)
    return ""


def _prometheus() -> str:
    try:
        metrics.check(now=timezone.now())
    except ControlPlaneError as error:
        return error.message
    return ""


def _artifacts() -> str:
    directory = settings.CONCH["artifacts_dir"]
    try:
        directory.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(directory).free
    except OSError as error:
        return f"{directory}: {error.strerror or error}"
    return f"{directory}: only {free:,} bytes are free" if free < LOW_DISK_BYTES else ""
