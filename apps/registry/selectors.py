"""Reading models, versions, aliases and samples."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db.models import Max, Prefetch, Q, QuerySet
from django.utils import timezone

from apps.common.actor import Actor
from apps.common.due import is_due, is_free
from apps.common.text import whole_number
from apps.registry import fitting
from apps.registry.comparison import Comparison, compare
from apps.registry.errors import (
    AliasUnknown,
    ArtifactUnknown,
    ModelUnknown,
    SampleUnknown,
    UploadExpired,
    UploadUnknown,
    VersionUnchecked,
    VersionUnknown,
)
from apps.registry.models import Alias, Artifact, Model, Sample, Upload, Version
from apps.registry.states import WAITING_UPLOADS, VersionState

# Columns that no list shows.
LARGE = ("config", "config_text", "signature", "remarks", "notes")
# Versions that a sample is held against.
JUDGED = 50
# Fewer digits of a digest or commit tell nothing.
FEWEST_DIGITS = 4


def models(*, search: str = "", owner: str = "") -> QuerySet[Model]:
    """Models by name; `search` looks into name, owner and description."""
    found = Model.objects.order_by("name")
    if search:
        found = found.filter(Q(name__icontains=search) | Q(owner__icontains=search) | Q(description__icontains=search))
    return found.filter(owner=owner) if owner else found


def models_with_versions(name: str = "") -> QuerySet[Model]:
    """Models that have versions, by name; one of them, or ModelUnknown, when it is named."""
    if name:
        get_model(name)
    found = Model.objects.filter(versions__isnull=False).distinct().order_by("name")
    return found.filter(name=name) if name else found


def removed_numbers() -> dict[str, set[int]]:
    """The numbers whose bytes are kept no longer, by model."""
    found: dict[str, set[int]] = {}
    for name, number in Version.objects.filter(state=VersionState.REMOVED).values_list("model__name", "number"):
        found.setdefault(name, set()).add(number)
    return found


def known_digests() -> set[str]:
    """The digests of artifacts, and of versions that are still being checked."""
    waiting = (VersionState.FETCHING, VersionState.RECEIVED, VersionState.CHECKING, VersionState.CHOOSING)
    return {
        *Artifact.objects.values_list("digest", flat=True),
        *Version.objects.filter(state__in=waiting).values_list("digest", flat=True),
    }


def get_model(name: str) -> Model:
    """The model of that name, or ModelUnknown."""
    found = Model.objects.filter(name=name).first()
    if found is None:
        raise ModelUnknown(f"there is no model {name[:140]!r}", field="model")
    return found


def versions(model_name: str = "", *, state: str = "") -> QuerySet[Version]:
    """Versions with model and artifact, newest number first; a rejected number may come twice."""
    found = Version.objects.select_related("model", "artifact", "fetch")
    if model_name:
        found = found.filter(model__name=model_name)
    if state:
        found = found.filter(state=state)
    return found.order_by("model__name", "-number", "-pk")


def find_versions(text: str) -> QuerySet[Version]:
    """Versions by the beginning of their digest or commit, or by `model number`, newest first."""
    digest = text.lower().removeprefix("sha256:")
    wanted = Q(pk=None)
    if len(digest) >= FEWEST_DIGITS:
        wanted |= Q(git_commit__istartswith=digest) | Q(digest__startswith=digest)
    name, _, last = text.rpartition(" ")
    number = whole_number(last)
    if name and number is not None:
        wanted |= Q(model__name__iexact=name, number=number)
    return Version.objects.select_related("model").defer(*LARGE).filter(wanted).order_by("-created_at", "-pk")


def get_version(model_name: str, number: int) -> Version:
    """The model's version of that number, the newest row of it; ModelUnknown or VersionUnknown."""
    model = get_model(model_name)
    found = versions(model_name).filter(number=number).first()
    if found is None:
        raise VersionUnknown(f"model {model.name!r} has no version {number}", field="version")
    return found


def get_checked_version(model_name: str, number: int) -> Version:
    """A version with a configuration to look at; VersionUnchecked when it was rejected or is not checked yet."""
    found = get_version(model_name, number)
    if found.artifact is None:
        raise VersionUnchecked(f"{found} is {found.state}: it has no configuration", version=number)
    return found


def compare_versions(model_name: str, number: int, other: int) -> Comparison:
    """From one version of a model to another; both must have passed their check."""
    return compare(*(get_checked_version(model_name, one) for one in (number, other)))


def next_number(model: Model) -> int:
    """One above the highest number ever used, rejected ones too: a number tells one story."""
    highest = Version.objects.filter(model=model).aggregate(highest=Max("number"))["highest"]
    return (highest or 0) + 1


def get_alias(model_name: str, name: str) -> Alias:
    """The model's alias with its version, or AliasUnknown."""
    found = aliases(model_name).filter(name=name).first()
    if found is None:
        raise AliasUnknown(f"{model_name[:128]} has no alias {name[:128]!r}")
    return found


def aliases(model_name: str) -> QuerySet[Alias]:
    """A model's aliases with their versions, by name."""
    return Alias.objects.select_related("version", "model").filter(model__name=model_name).order_by("name")


def samples(model_name: str) -> QuerySet[Sample]:
    """A model's samples, by name."""
    return Sample.objects.select_related("model").filter(model__name=model_name).order_by("name")


def fits(
    model: Model, inputs: Sequence[Mapping[str, Any]], outputs: Sequence[Mapping[str, Any]]
) -> dict[int, list[str]]:
    """Each of the newest ready versions with why the tensors do not fit it; no reason where they do."""
    return _judged(_judges(model), inputs, outputs)


def fits_of(model: Model, samples: Iterable[Sample]) -> dict[int, dict[int, list[str]]]:
    """The same for each sample, by its key; the versions are read once."""
    judges = _judges(model)
    return {sample.pk: _judged(judges, sample.inputs, sample.outputs) for sample in samples}


def _judges(model: Model) -> list[tuple[int, Mapping[str, Any], bool]]:
    """Number and signature of the newest ready versions, and whether batches may be ragged."""
    ready = Version.objects.filter(model=model, state=VersionState.READY).order_by("-number")
    found = ready.values_list("number", "signature", "config__input")[:JUDGED]
    return [(number, signature, fitting.is_ragged({"input": tensors or ()})) for number, signature, tensors in found]


def _judged(
    judges: Iterable[tuple[int, Mapping[str, Any], bool]],
    inputs: Sequence[Mapping[str, Any]],
    outputs: Sequence[Mapping[str, Any]],
) -> dict[int, list[str]]:
    return {
        number: fitting.misfits(inputs, outputs, signature, is_ragged=is_ragged)
        for number, signature, is_ragged in judges
    }


def due_captures(now: datetime) -> list[int]:
    """Samples whose outputs are still to be taken, and that nobody is at."""
    return list(Sample.objects.filter(is_due("capture_due_at", now)).order_by("pk").values_list("pk", flat=True))


def get_sample(model_name: str, name: str) -> Sample:
    """The model's sample of that name; ModelUnknown or SampleUnknown."""
    model = get_model(model_name)
    found = samples(model_name).filter(name=name).first()
    if found is None:
        raise SampleUnknown(f"model {model.name!r} has no sample {name[:140]!r}", field="name")
    return found


def find_artifact(digest: str) -> Artifact | None:
    """The checked artifact of that SHA-256."""
    return Artifact.objects.filter(digest=digest).first()


def get_artifact(digest: str) -> Artifact:
    """The checked artifact of that SHA-256 with its versions, or ArtifactUnknown."""
    versions = Prefetch("versions", Version.objects.select_related("model").order_by("pk"))
    found = Artifact.objects.prefetch_related(versions).filter(digest=digest).first()
    if found is None:
        raise ArtifactUnknown(f"no artifact has the SHA-256 {digest[:64]!r}", field="sha256")
    return found


def versions_of(artifact: Artifact) -> QuerySet[Version]:
    """The versions that have those bytes, oldest first."""
    return Version.objects.select_related("model").filter(artifact=artifact).order_by("pk")


def uploads(actor: Actor, *, model: str = "") -> QuerySet[Upload]:
    """The actor's own resumable uploads that have not expired, newest first."""
    found = Upload.objects.select_related("model", "version__model")
    found = found.filter(owner=actor.identity, expires_at__gt=timezone.now())
    return (found.filter(model__name=model) if model else found).order_by("-pk")


def unfinished_uploads(actor: Actor, *, model: str) -> QuerySet[Upload]:
    """Those of the actor's that still come in, or wait for a number."""
    return uploads(actor, model=model).filter(state__in=WAITING_UPLOADS)


def get_upload(actor: Actor, key: str) -> Upload:
    """The actor's own upload of that key; UploadUnknown or UploadExpired."""
    rows = Upload.objects.select_related("model", "version__model")
    found = rows.filter(owner=actor.identity, key=key).first()
    if found is None:
        raise unknown_upload(key)
    if found.expires_at <= timezone.now():
        raise UploadExpired(f"{found} expired at {found.expires_at:%Y-%m-%d %H:%M} UTC: nothing had come for too long")
    return found


def unknown_upload(key: str) -> UploadUnknown:
    """What to tell who asks for it: it may have been there a moment ago."""
    return UploadUnknown(f"you have no upload {key[:40]!r}")


def expired_uploads(now: datetime) -> list[Upload]:
    """Uploads whose time is up and that nobody is sending to."""
    return list(Upload.objects.filter(is_free(now), expires_at__lte=now).order_by("pk"))


def store() -> Path:
    """The directory that holds every artifact, and what is on its way in."""
    return Path(settings.CONCH["artifacts_dir"])


def artifact_directory(artifact: Artifact) -> Path:
    """Where an artifact's files lie."""
    return directory_of(artifact.digest)


def directory_of(digest: str) -> Path:
    """Where the files of the artifact of that SHA-256 lie."""
    return store() / digest[:2] / digest
