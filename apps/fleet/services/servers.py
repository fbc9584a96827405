"""Servers: named, changed, set aside, retired."""

import re
from functools import partial
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from apps.access.services import require
from apps.audit.services import record
from apps.common.actor import Actor
from apps.common.dispatch import wake
from apps.common.names import check_name
from apps.common.text import SHOWN_CHARS, printable
from apps.common.transitions import move
from apps.fleet import connecting, selectors
from apps.fleet.errors import (
    AddressTaken,
    BadAddress,
    ControlKeyIncomplete,
    ControlValueSealed,
    NameTaken,
    RepositoryElsewhere,
)
from apps.fleet.models import Server
from apps.fleet.sealing import seal
from apps.fleet.services.addresses import clean_endpoint, clean_labels, clean_metrics, spellings
from apps.fleet.states import ServerState
from apps.serving import backends
from apps.serving.connections import forget

INTRODUCE = "conch.introduce_server"
_HEADER_KEY = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_HEADER_VALUE = re.compile(r"[\x21-\x7e]([\x20-\x7e]{0,1022}[\x21-\x7e])?")


@transaction.atomic
def add_server(
    actor: Actor,
    *,
    name: str,
    environment: str,
    repository: str,
    grpc: str,
    http: str = "",
    metrics: str = "",
    control_key: str = "",
    control_value: str = "",
    labels: dict[str, str] | None = None,
    kind: str = "triton",
) -> Server:
    """A new server in state `checking`; a worker asks it who it is."""
    require(actor, "add_server", environment)
    check_name(name, what="server")
    backends.get(kind)
    owner = selectors.get_environment(environment)
    source = selectors.get_repository(repository)
    if source.environment_id != owner.pk:
        raise RepositoryElsewhere(
            f"repository {repository!r} belongs to {source.environment.name!r}, not to {environment!r}",
            field="repository",
        )
    _check_control(control_key, control_value)
    server = Server(
        name=name,
        kind=kind,
        environment=owner,
        repository=source,
        grpc=clean_endpoint(grpc, field="grpc"),
        http=clean_endpoint(http, field="http") if http else "",
        metrics=clean_metrics(metrics) if metrics else "",
        control_key=control_key,
        sealed_control_value=seal(control_value),
        labels=clean_labels(labels or {}),
        created_by=actor.name,
    )
    _save_new(server)
    _record(actor, "add_server", server, grpc=server.grpc, http=server.http, metrics=server.metrics)
    wake(INTRODUCE, server_id=server.pk)
    return server


def _save_new(server: Server) -> None:
    _require_free(server)
    try:
        with transaction.atomic():
            server.save()
    except IntegrityError as error:
        _require_free(server)
        raise NameTaken(f"there is a server {server.name!r} already", field="name") from error


def _require_free(server: Server) -> None:
    if Server.objects.filter(name=server.name).exists():
        raise NameTaken(
            f"there is a server {server.name!r} already",
            hint="Choose another name: a retired server keeps its name, because the history tells of it.",
            field="name",
        )
    holder = Server.objects.filter(grpc__in=spellings(server.grpc)).exclude(state=ServerState.RETIRED).first()
    if holder is not None:
        raise AddressTaken(f"server {holder.name!r} has {holder.grpc}", field="grpc", server=holder.name)


def _check_control(key: str, value: str) -> None:
    if bool(key) != bool(value):
        raise ControlKeyIncomplete("a control key needs both its name and its value", field="control_key")
    if key and not (_HEADER_KEY.fullmatch(key) and _HEADER_VALUE.fullmatch(value)):
        raise BadAddress(
            "the control key or its value holds characters that no header may hold",
            hint="Use letters, digits, '_', '.', '-' in the key and printable ASCII in the value.",
            field="control_key",
        )


@transaction.atomic
def update_server(
    actor: Actor,
    *,
    name: str,
    http: str | None = None,
    metrics: str | None = None,
    labels: dict[str, str] | None = None,
    control_key: str | None = None,
    control_value: str | None = None,
) -> Server:
    """Change what is given, leave the rest; the gRPC address is the server itself and stays."""
    server = selectors.get_server(name)
    require(actor, "update_server", server.environment.name)
    changed: dict[str, Any] = {}
    if http is not None:
        changed["http"] = clean_endpoint(http, field="http") if http else ""
    if metrics is not None:
        changed["metrics"] = clean_metrics(metrics) if metrics else ""
    if labels is not None:
        changed["labels"] = clean_labels(labels)
    if control_key is not None or control_value is not None:
        _check_control(control_key or "", control_value or "")
        changed |= {"control_key": control_key or "", "sealed_control_value": seal(control_value or "")}
    if changed:
        _forget_on_commit(server)
        Server.objects.filter(pk=server.pk).update(**changed)
        told = {field: value for field, value in changed.items() if field != "sealed_control_value"}
        _record(actor, "update_server", server, now=told)
    return selectors.get_server(name)


def cordon_server(actor: Actor, *, name: str, reason: str) -> Server:
    """Keep new rollouts away from the server; it goes on serving."""
    return _set_cordon(actor, name, reason=reason, is_cordoned=True)


def uncordon_server(actor: Actor, *, name: str, reason: str = "") -> Server:
    """Let rollouts reach the server again."""
    return _set_cordon(actor, name, reason=reason, is_cordoned=False)


@transaction.atomic
def _set_cordon(actor: Actor, name: str, *, reason: str, is_cordoned: bool) -> Server:
    server = selectors.get_server(name)
    require(actor, "cordon_server", server.environment.name)
    said = printable(reason, limit=SHOWN_CHARS)
    found = Server.objects.filter(pk=server.pk, cordoned_at__isnull=is_cordoned)
    if found.update(cordoned_at=timezone.now() if is_cordoned else None, cordon_reason=said if is_cordoned else ""):
        _record(actor, "cordon_server" if is_cordoned else "uncordon_server", server, reason=said)
    return selectors.get_server(name)


@transaction.atomic
def retire_server(actor: Actor, *, name: str, reason: str) -> Server:
    """Take the server out of the fleet for good; its history stays, its address is free again."""
    server = selectors.get_server(name)
    require(actor, "retire_server", server.environment.name)
    _forget_on_commit(server)
    move(server, ServerState.RETIRED, sealed_control_value="", lease_until=None)
    server.versions.all().delete()
    _record(actor, "retire_server", server, reason=printable(reason, limit=SHOWN_CHARS))
    return server


def _forget_on_commit(server: Server) -> None:
    """Close this process's connection; other processes' idle ones cost nothing and are not used again."""
    try:
        address = connecting.address(server)
    except ControlValueSealed:
        return  # nobody could have connected with a key that cannot be read
    transaction.on_commit(partial(forget, address))


def _record(actor: Actor, verb: str, server: Server, *, reason: str = "", **detail: Any) -> None:
    record(
        actor,
        verb,
        subject_kind="server",
        subject=server.name,
        environment=server.environment.name,
        reason=reason,
        **detail,
    )
