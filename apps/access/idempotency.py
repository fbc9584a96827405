"""Answers kept for requests that may be sent again: same key, same actor, same request, same answer.

A claim is one row. While its answer is missing the row's time is a lease: a second request in that time is told
to wait, a later one takes the claim over, because the process that held it died. Whoever lost the lease cannot
write its answer any more.
"""

import hashlib
import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction

from apps.access.errors import IdempotencyKeyInvalid, IdempotencyKeyReused, RequestInProgress
from apps.access.models import IdempotencyKey
from apps.common.actor import Actor

KEPT_FOR = timedelta(hours=24)
_KEY = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]{0,198}[\x21-\x7e])?")


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to work on a request and to keep its answer."""

    row_id: int
    claimed_at: datetime


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """What the first request with this key was answered."""

    status: int
    body: Any


def claim(actor: Actor, *, key: str, fingerprint: str, lease: timedelta, now: datetime) -> Claim | KeptAnswer:
    """The kept answer, or the right to work one out.

    Raises IdempotencyKeyReused when the key came with another request, RequestInProgress while another process
    holds the claim.
    """
    if not _KEY.fullmatch(key):
        raise IdempotencyKeyInvalid(f"Idempotency-Key {key[:40]!r} ({len(key)} characters) is not allowed")
    owner = actor.identity
    IdempotencyKey.objects.filter(actor=owner, key=key, created_at__lt=now - KEPT_FOR).delete()
    try:
        with transaction.atomic():
            row = IdempotencyKey.objects.create(actor=owner, key=key, fingerprint=fingerprint, created_at=now)
    except IntegrityError:
        return _second(owner, key=key, fingerprint=fingerprint, lease=lease, now=now)
    return Claim(row.pk, now)


def request_key(actor: Actor, key: str) -> str:
    """What a row keeps of the request that made it, so that a repeat finds the row where the answer was lost."""
    return hashlib.sha256(f"{actor.identity}\n{key}".encode()).hexdigest() if key else ""


def keep(held: Claim, *, status: int, body: Any) -> None:
    """Keep the answer, unless the lease ran out and another took the claim."""
    _held(held).update(status=status, body=body)


def release(held: Claim) -> None:
    """Nothing was started: the key may be used again."""
    _held(held).delete()


def forget(*, now: datetime) -> int:
    """Drop answers nobody will ask for again; how many."""
    return IdempotencyKey.objects.filter(created_at__lt=now - KEPT_FOR).delete()[0]


def _second(owner: str, *, key: str, fingerprint: str, lease: timedelta, now: datetime) -> Claim | KeptAnswer:
    row = IdempotencyKey.objects.filter(actor=owner, key=key).first()
    if row is None:
        raise RequestInProgress(f"the request with Idempotency-Key {key!r} has just ended without an answer")
    if row.fingerprint != fingerprint:
        raise IdempotencyKeyReused(f"Idempotency-Key {key!r} came before, with another request")
    if row.status is not None:
        return KeptAnswer(row.status, row.body)
    overdue = IdempotencyKey.objects.filter(pk=row.pk, status=None, created_at=row.created_at)
    if row.created_at > now - lease or not overdue.update(created_at=now):
        raise RequestInProgress(f"the request with Idempotency-Key {key!r} is still being worked on")
    return Claim(row.pk, now)


def _held(held: Claim) -> Any:
    return IdempotencyKey.objects.filter(pk=held.row_id, created_at=held.claimed_at, status=None)
