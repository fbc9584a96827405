"""Versions by reference: asked for here, fetched by a worker."""

import ipaddress
import secrets
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import transaction

from apps.access.services import require
from apps.audit.services import record
from apps.common.actor import Actor
from apps.common.dispatch import wake
from apps.registry import selectors
from apps.registry.errors import TooManyUploads
from apps.registry.models import Fetch, Model, Version
from apps.registry.services.limits import upload_limit
from apps.registry.services.uploads import add_known_version, check_sha256
from apps.registry.services.versions import Wanted, made_before, make_row
from apps.registry.sources import Kind, Policy, Reference, parse
from apps.registry.states import VersionState

FETCH = "conch.fetch_version"


def policy() -> Policy:
    """From where this installation lets bytes be taken."""
    allowed: dict[str, Any] = settings.CONCH["fetch"]
    try:
        networks = tuple(ipaddress.ip_network(network) for network in allowed["networks"])
    except ValueError as error:
        raise ImproperlyConfigured(f"CONCH_FETCH_NETWORKS: {error}") from error
    return Policy(**(allowed | {"networks": networks}))


def add_version_from(actor: Actor, *, model: str, source: str, wanted: Wanted, sha256: str = "") -> Version:
    """A version whose bytes a worker will fetch; at once when their SHA-256 is given and known.

    Nothing is asked outside: only what the reference says and whether it is allowed is looked at.
    """
    require(actor, "add_version")
    owner = selectors.get_model(model)
    if made := made_before(owner, wanted.request_key):
        return made
    check_sha256(sha256)
    wanted.check(owner)
    reference = parse(source)
    if reference.kind == Kind.KNOWN:
        return add_known_version(actor, model=model, sha256=reference.path, wanted=wanted)
    policy().require_allowed(reference)
    if sha256 and not wanted.version_directory and selectors.find_artifact(sha256):
        return add_known_version(actor, model=model, sha256=sha256, wanted=wanted)
    return _begin(actor, owner, reference, wanted, source=source, sha256=sha256)


@transaction.atomic
def _begin(actor: Actor, owner: Model, reference: Reference, wanted: Wanted, *, source: str, sha256: str) -> Version:
    model = Model.objects.select_for_update().get(pk=owner.pk)
    if made := made_before(model, wanted.request_key):
        return made
    _require_few(actor)
    version = make_row(
        actor,
        model,
        wanted,
        state=VersionState.FETCHING,
        source=reference.shown,
        incoming=secrets.token_hex(16),
        digest=sha256,
        size_bytes=0,
    )
    Fetch.objects.create(version=version, reference=source, sha256=sha256, limit_bytes=upload_limit(actor))
    record(
        actor,
        "add_version",
        subject_kind="version",
        subject=str(version),
        model=model.name,
        source=reference.shown,
        digest=sha256,
        git_commit=wanted.git_commit,
    )
    wake(FETCH, version_id=version.pk)
    return version


def _require_few(actor: Actor) -> None:
    most = int(settings.CONCH["max_unfinished_uploads"])
    if Fetch.objects.filter(version__created_by=actor.name).count() >= most:
        raise TooManyUploads(f"{actor.name} has {most} versions that are still fetched", limit=most)
