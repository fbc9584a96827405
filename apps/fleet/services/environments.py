"""Environments and their repositories."""

from pathlib import PurePosixPath

from django.db import IntegrityError, transaction

from apps.access.services import require
from apps.audit.services import record
from apps.common.actor import Actor
from apps.common.names import check_name
from apps.fleet import selectors
from apps.fleet.errors import BadRank, NameTaken, PathTaken
from apps.fleet.models import Environment, Repository
from apps.fleet.repositories import kind_of

MAX_RANK = 1_000


@transaction.atomic
def add_environment(actor: Actor, *, name: str, rank: int = 0) -> Environment:
    """A new environment."""
    require(actor, "add_environment")
    check_name(name, what="environment")
    _check_rank(rank)
    try:
        with transaction.atomic():
            environment = Environment.objects.create(name=name, rank=rank)
    except IntegrityError as error:
        raise NameTaken(f"there is an environment {name!r} already", field="name") from error
    record(actor, "add_environment", subject_kind="environment", subject=name, environment=name, rank=rank)
    return environment


@transaction.atomic
def update_environment(actor: Actor, *, name: str, rank: int | None = None) -> Environment:
    """Change an environment's rank."""
    require(actor, "update_environment", name)
    environment = selectors.get_environment(name)
    if rank is None or rank == environment.rank:
        return environment
    _check_rank(rank)
    was = {"rank": environment.rank}
    Environment.objects.filter(pk=environment.pk).update(rank=rank)
    environment.refresh_from_db()
    record(
        actor,
        "update_environment",
        subject_kind="environment",
        subject=name,
        environment=name,
        was=was,
        now={"rank": rank},
    )
    return environment


def _check_rank(rank: int) -> None:
    if isinstance(rank, bool) or not isinstance(rank, int) or not 0 <= rank <= MAX_RANK:
        raise BadRank(f"rank is not a whole number from 0 to {MAX_RANK:,}", field="rank")


@transaction.atomic
def add_repository(
    actor: Actor, *, name: str, environment: str, path: str = "", kind: str = "posix", **settings: str
) -> Repository:
    """Where servers of one environment take their models from: a directory, a bucket, or the load calls alone."""
    require(actor, "add_repository", environment)
    check_name(name, what="repository")
    where, kept = kind_of(kind).clean_place(path, name=name), kind_of(kind).clean_settings(settings)
    owner = selectors.get_environment(environment)
    _require_free_path(where)
    try:
        with transaction.atomic():
            repository = Repository.objects.create(name=name, environment=owner, path=where, kind=kind, settings=kept)
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
        **kept,
    )
    return repository


def _require_free_path(path: str) -> None:
    """A repository inside another would be listed as one of its models."""
    mine = PurePosixPath(path)
    for name, taken in Repository.objects.values_list("name", "path"):
        other = PurePosixPath(taken)
        if mine == other or other in mine.parents or mine in other.parents:
            raise PathTaken(f"repository {name!r} has {taken}", field="path", repository=name)
