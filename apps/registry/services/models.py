"""Models and their aliases."""

import math
from collections.abc import Sequence
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from apps.access.services import require
from apps.audit.services import record
from apps.common.actor import Actor
from apps.common.names import check_model_name, check_name
from apps.common.text import printable
from apps.registry import selectors
from apps.registry.errors import FieldInvalid, ModelTaken, VersionNotReady
from apps.registry.models import Alias, Model, Version
from apps.registry.states import VersionState

OWNER_CHARS, DESCRIPTION_CHARS, TAG_CHARS, MAX_TAGS = 200, 10_000, 64, 30
MOST_KEPT = 10_000
MAX_P99_MS, MAX_LOAD_DEADLINE_S, MIN_LOAD_DEADLINE_S = 3_600_000.0, 7_200, 5


@transaction.atomic
def register_model(
    actor: Actor,
    *,
    name: str,
    owner: str = "",
    description: str = "",
    tags: Sequence[str] = (),
    slo_p99_ms: float | None = None,
    slo_error_ratio: float | None = None,
    load_deadline_s: int = 300,
    keep_versions: int | None = None,
) -> Model:
    """A new model, without versions yet."""
    require(actor, "register_model")
    check_model_name(name)
    fields = _clean(
        owner=owner,
        description=description,
        tags=tags,
        slo_p99_ms=slo_p99_ms,
        slo_error_ratio=slo_error_ratio,
        load_deadline_s=load_deadline_s,
        keep_versions=keep_versions,
    )
    try:
        with transaction.atomic():
            model = Model.objects.create(name=name, created_by=actor.name, **fields)
    except IntegrityError as error:
        raise ModelTaken(f"there is a model {name!r} already", field="name") from error
    record(actor, "register_model", subject_kind="model", subject=name, model=name, now=fields)
    return model


@transaction.atomic
def update_model(actor: Actor, *, name: str, **fields: Any) -> Model:
    """Change what is given: owner, description, tags, SLO, load deadline."""
    require(actor, "update_model")
    model = selectors.get_model(name)
    cleaned = _clean(**fields)
    was = {field: getattr(model, field) for field, value in cleaned.items() if getattr(model, field) != value}
    if was:
        changed = {field: cleaned[field] for field in was}
        Model.objects.filter(pk=model.pk).update(**changed)
        record(actor, "update_model", subject_kind="model", subject=name, model=name, was=was, now=changed)
    return selectors.get_model(name)


def _clean(**fields: Any) -> dict[str, Any]:
    cleaners = {
        "owner": lambda value: _line(value, "owner", OWNER_CHARS),
        "description": lambda value: _text(value, "description", DESCRIPTION_CHARS),
        "tags": _tags,
        "slo_p99_ms": lambda value: _number(value, "slo_p99_ms", above=0, to=MAX_P99_MS),
        "slo_error_ratio": lambda value: _number(value, "slo_error_ratio", above=-1e-12, to=1),
        "load_deadline_s": _deadline,
        "keep_versions": _kept,
    }
    strange = sorted(set(fields) - set(cleaners))
    if strange:
        raise FieldInvalid(f"a model has no field {printable(strange[0], limit=60)!r}", field=strange[0])
    return {field: cleaners[field](value) for field, value in fields.items()}


def _text(value: Any, field: str, most: int) -> str:
    if not isinstance(value, str) or len(value) > most or printable(value) != value.replace("\r\n", "\n"):
        raise FieldInvalid(f"{field} is not text of at most {most:,} printable characters", field=field)
    return printable(value).strip()


def _line(value: Any, field: str, most: int) -> str:
    text = _text(value, field, most)
    if not text.isprintable():
        raise FieldInvalid(f"{field} is more than one line of text", field=field)
    return text


def _tags(value: Any) -> list[str]:
    if not isinstance(value, list | tuple) or len(value) > MAX_TAGS:
        raise FieldInvalid(f"tags is not a list of at most {MAX_TAGS} words", field="tags")
    return sorted({tag for tag in (_line(tag, "tags", TAG_CHARS) for tag in value) if tag})


def _number(value: Any, field: str, *, above: float, to: float) -> float | None:
    if value is None:
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not is_number or not above < value <= to:
        raise FieldInvalid(f"{field} is not a number from {max(above, 0):g} to {to:g}", field=field)
    return float(value)


def _kept(value: Any) -> int | None:
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if value is not None and not (is_whole and 0 <= value <= MOST_KEPT):
        raise FieldInvalid(f"keep_versions is not a whole number from 0 to {MOST_KEPT:,}", field="keep_versions")
    return None if value is None else int(value)


def _deadline(value: Any) -> int:
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if not is_whole or not MIN_LOAD_DEADLINE_S <= value <= MAX_LOAD_DEADLINE_S:
        raise FieldInvalid(
            f"load_deadline_s is not a whole number from {MIN_LOAD_DEADLINE_S} to {MAX_LOAD_DEADLINE_S:,}",
            field="load_deadline_s",
        )
    return int(value)


@transaction.atomic
def point_alias(actor: Actor, *, model: str, alias: str, version: int) -> Alias:
    """Point a name such as `champion` at a ready version; a new name is made."""
    require(actor, "point_alias")
    check_name(alias, what="alias")
    chosen = selectors.get_version(model, version)
    if chosen.state != VersionState.READY:
        raise VersionNotReady(f"{chosen} is {chosen.state}", hint="An alias points at a ready version.")
    Model.objects.select_for_update().get(pk=chosen.model_id)
    # Retention looks at aliases under this lock: a version cannot lose its bytes while it is pointed at.
    if Version.objects.select_for_update().get(pk=chosen.pk).state != VersionState.READY:
        raise VersionNotReady(f"{chosen} was put away just now", hint="An alias points at a ready version.")
    before = Alias.objects.filter(model=chosen.model, name=alias).select_related("version").first()
    pointed, _ = Alias.objects.update_or_create(
        model=chosen.model, name=alias, defaults={"version": chosen, "changed_at": timezone.now()}
    )
    was = before.version.number if before else None
    record(actor, "point_alias", subject_kind="alias", subject=f"{model}@{alias}", model=model, was=was, now=version)
    return pointed


@transaction.atomic
def remove_alias(actor: Actor, *, model: str, alias: str) -> Model:
    """Take a name away from the version it points at; the version stays. AliasUnknown."""
    require(actor, "remove_alias")
    found = selectors.get_model(model)
    pointed = selectors.get_alias(model, alias)
    was = pointed.version.number
    pointed.delete()
    record(actor, "remove_alias", subject_kind="alias", subject=f"{model}@{alias}", model=model, was=was)
    return found
