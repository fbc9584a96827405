"""Environments and their repositories."""

import os
from pathlib import PurePosixPath
from typing import Any

from django.db import IntegrityError, transaction

from apps.access.services import require
from apps.audit.services import record
from apps.common.actor import Actor
from apps.common.names import check_name
from apps.common.text import printable
from apps.fleet import selectors
from apps.fleet.errors import BadPath, BadPolicy, NameTaken, PathTaken, RepositoryKindUnknown
from apps.fleet.models import Environment, Repository

KINDS = ("posix",)
PATH_CHARS = 1_000
# Lower and upper bound of each number in an environment's policy.
POLICY = {"rank": (0, 1_000), "standby_window_s": (0, 30 * 86_400), "progress_deadline_s": (10, 86_400)}


@transaction.atomic
def add_environment(
    actor: Actor, *, name: str, rank: int = 0, standby_window_s: int = 1_800, progress_deadline_s: int = 600
) -> Environment:
    """A new environment with its policy."""
    require(actor, "add_environment")
    check_name(name, what="environment")
    policy = {"rank": rank, "standby_window_s": standby_window_s, "progress_deadline_s": progress_deadline_s}
    _check_policy(policy)
    try:
        with transaction.atomic():
            environment = Environment.objects.create(name=name, **policy)
    except IntegrityError as error:
        raise NameTaken(f"there is an environment {name!r} already", field="name") from error
    record(actor, "add_environment", subject_kind="environment", subject=name, environment=name, policy=policy)
    return environment


@transaction.atomic
def update_environment(actor: Actor, *, name: str, **policy: int) -> Environment:
    """Change an environment's rank, standby window (s) or progress deadline (s)."""
    require(actor, "update_environment", name)
    environment = selectors.get_environment(name)
    _check_policy(policy)
    before = {field: getattr(environment, field) for field in policy}
    changed = {field: value for field, value in policy.items() if before[field] != value}
    if changed:
        Environment.objects.filter(pk=environment.pk).update(**changed)
        environment.refresh_from_db()
        was = {field: before[field] for field in changed}
        record(
            actor,
            "update_environment",
            subject_kind="environment",
            subject=name,
            environment=name,
            was=was,
            now=changed,
        )
    return environment


def _check_policy(policy: dict[str, Any]) -> None:
    for field, value in policy.items():
        if field not in POLICY:
            raise BadPolicy(f"an environment has no {printable(field, limit=40)!r}", field=field)
        low, high = POLICY[field]
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise BadPolicy(f"{field} is not a whole number from {low:,} to {high:,}", field=field)


@transaction.atomic
def add_repository(actor: Actor, *, name: str, environment: str, path: str, kind: str = "posix") -> Repository:
    """A directory that servers of one environment read their models from."""
    require(actor, "add_repository", environment)
    check_name(name, what="repository")
    if kind not in KINDS:
        raise RepositoryKindUnknown(f"repository kind {printable(kind, limit=40)!r} is not one of {', '.join(KINDS)}")
    where = _clean_path(path)
    owner = selectors.get_environment(environment)
    _require_free_path(where)
    try:
        with transaction.atomic():
            repository = Repository.objects.create(name=name, environment=owner, path=where, kind=kind)
    except IntegrityError as error:
        _require_free_path(where)
        raise NameTaken(f"there is a repository {name!r} already", field="name") from error
    record(
        actor,
        "add_repository",
        subject_kind="repository",
        subject=name,
        environment=environment,
        path=where,
        kind=kind,
    )
    return repository


def _clean_path(path: str) -> str:
    pure = PurePosixPath(path)
    if not pure.is_absolute() or ".." in pure.parts or len(pure.parts) == 1 or len(path) > PATH_CHARS:
        raise BadPath(f"{printable(path, limit=200)!r} is not the absolute path of a directory", field="path")
    if not path.isprintable():
        raise BadPath(f"{printable(path, limit=200)!r} holds control characters", field="path")
    return os.path.normpath(pure)


def _require_free_path(path: str) -> None:
    """A repository inside another would be listed as one of its models."""
    mine = PurePosixPath(path)
    for name, taken in Repository.objects.values_list("name", "path"):
        other = PurePosixPath(taken)
        if mine == other or other in mine.parents or mine in other.parents:
            raise PathTaken(f"repository {name!r} has {taken}", field="path", repository=name)
