"""What holds a version, and what would go if retention ran now."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db.models import Count, Q

from apps.deployments.models import Ban, Placement, Rollout
from apps.deployments.selectors.published import published
from apps.deployments.states import ACTIVE_ROLLOUT, RolloutKind, RolloutState
from apps.fleet.models import ObservedVersion
from apps.registry import selectors as registry
from apps.registry.models import Alias, Artifact, Model, Version
from apps.registry.services import leftover_bytes, orphaned_artifacts
from apps.registry.states import VersionState

KEPT_STATES = (VersionState.READY, VersionState.ARCHIVED)


@dataclass(frozen=True, slots=True)
class Judged:
    """A version that may lose its bytes: what holds it, what the store has of it alone, its copies in repositories."""

    version: Version
    held_by: tuple[str, ...]
    freed_bytes: int
    copies: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Retention:
    """What retention would do: versions whose bytes go, older ones that something holds, and bytes nobody knows.

    `leftover_bytes` are those of processes that died while bytes came in or were unpacked.
    """

    goes: tuple[Judged, ...]
    held: tuple[Judged, ...]
    orphans: tuple[tuple[str, int], ...]
    leftover_bytes: int = 0

    @property
    def freed_bytes(self) -> int:
        """All that would be free in the artifact store afterwards."""
        return sum(one.freed_bytes for one in self.goes) + sum(size for _, size in self.orphans) + self.leftover_bytes

    @property
    def copies(self) -> tuple[tuple[str, int], ...]:
        """What would be free in each repository, by name."""
        found: Counter[str] = Counter()
        for one in self.goes:
            found.update(dict(one.copies))
        return tuple(sorted(found.items()))


def holders(versions: Iterable[Version], *, is_strict: bool = True) -> dict[int, list[str]]:
    """Who holds each of these versions, in words, by key. A constant number of queries.

    `is_strict` counts too what a version must keep its bytes for, though it may be archived: bans, and the way back.
    """
    found: dict[int, list[str]] = defaultdict(list)
    chosen = list(versions)
    ids = [version.pk for version in chosen]
    for placement in Placement.objects.filter(Q(active__in=ids) | Q(standby__in=ids)).select_related(
        "environment", "model"
    ):
        for version_id, words in ((placement.active_id, "live"), (placement.standby_id, "kept hot")):
            if version_id in ids:
                held = " and held" if placement.held_at else ""
                found[version_id].append(f"{placement} ({words}{held})")
    moving = Rollout.objects.filter(Q(from_version__in=ids) | Q(to_version__in=ids), state__in=ACTIVE_ROLLOUT)
    for rollout_id, old, new in moving.values_list("pk", "from_version", "to_version"):
        for version_id in {old, new} & set(ids):
            found[version_id].append(f"rollout {rollout_id}")
    for version_id, name in Alias.objects.filter(version__in=ids).values_list("version", "name"):
        found[version_id].append(f"alias {name}")
    if is_strict:
        _add_strict(found, chosen, ids)
    return dict(found)


def _add_strict(found: dict[int, list[str]], versions: list[Version], ids: list[int]) -> None:
    bans = Ban.objects.filter(version__in=ids, lifted_at=None).select_related("placement__environment")
    for ban in bans:
        found[ban.version_id].append(f"ban in {ban.placement.environment}")
    by_place: dict[int, int] = {}
    placements = Placement.objects.filter(model__in={version.model_id for version in versions})
    replaced = Rollout.objects.filter(
        placement__in=placements, state=RolloutState.SUCCEEDED, from_version__isnull=False
    )
    replaced = replaced.filter(kind__in=(RolloutKind.PROMOTE, RolloutKind.UNLOAD)).order_by("pk")
    for placement_id, version_id in replaced.values_list("placement", "from_version"):
        by_place[placement_id] = version_id or 0
    names = dict(Placement.objects.filter(pk__in=by_place).values_list("pk", "environment__name"))
    for placement_id, version_id in by_place.items():
        if version_id in ids:
            found[version_id].append(f"the way back in {names[placement_id]}")
    numbers = {(version.model.name, version.number): version.pk for version in versions}
    loaded = ObservedVersion.objects.filter(model__in={name for name, _ in numbers}, version__gt=0)
    for model, number, server in loaded.exclude(state="UNAVAILABLE").values_list("model", "version", "server__name"):
        if (model, number) in numbers:
            found[numbers[model, number]].append(f"loaded on {server}")


def retention(*, model: str = "") -> Retention:
    """What would go now, of one model or of all; nothing is changed by looking."""
    candidates = _beyond(list(registry.models_with_versions(model)))
    held = holders(candidates)
    bytes_of = _freed(candidates, {version.pk for version in candidates if version.pk not in held})
    copies = copies_of(candidates)
    judged = [
        Judged(one, tuple(held.get(one.pk, ())), bytes_of.get(one.pk, 0), copies.get(one.pk, ())) for one in candidates
    ]
    return Retention(
        goes=tuple(one for one in judged if not one.held_by),
        held=tuple(one for one in judged if one.held_by),
        orphans=() if model else tuple(sorted(orphaned_artifacts().items())),
        leftover_bytes=0 if model else leftover_bytes(),
    )


def judge(version: Version) -> Judged:
    """One version, whatever its number: what holds its bytes, and what would go with them."""
    held = holders([version]).get(version.pk, ())
    freed = _freed([version], {version.pk}).get(version.pk, 0)
    return Judged(version, tuple(held), freed, copies_of([version]).get(version.pk, ()))


def copies_of(versions: Iterable[Version]) -> dict[int, tuple[tuple[str, int], ...]]:
    """The repositories that each version was published in, and its bytes there by its manifest; two queries."""
    where: dict[int, list[str]] = defaultdict(list)
    for one in published(version.pk for version in versions):
        where[one.version_id].append(one.repository)
    manifests = Version.objects.filter(pk__in=where, artifact__isnull=False).values_list("pk", "artifact__files")
    sizes = {pk: sum(file["size_bytes"] for file in files if _is_of_version(file)) for pk, files in manifests}
    return {pk: tuple((name, sizes[pk]) for name in where[pk]) for pk in sizes}


def _is_of_version(file: Mapping[str, Any]) -> bool:
    """Those beside the versions' directories stay for the others."""
    return str(file["path"]).startswith("version/")


def keep_of(model: Model) -> int:
    """How many of a model's newest versions keep their bytes; 0: all."""
    return int(settings.CONCH["keep_versions"]) if model.keep_versions is None else model.keep_versions


def _beyond(models: list[Model]) -> list[Version]:
    """Every version beyond the number its model keeps, by model and newest first."""
    left = {model.pk: keep for model in models if (keep := keep_of(model))}
    beyond = []
    rows = Version.objects.filter(model__in=left, state__in=KEPT_STATES).order_by("model__name", "-number")
    for version_id, model_id in rows.values_list("pk", "model_id"):
        left[model_id] -= 1
        if left[model_id] < 0:
            beyond.append(version_id)
    found = Version.objects.select_related("model").defer("config", "config_text", "signature").in_bulk(beyond)
    return [found[version_id] for version_id in beyond]


def _freed(candidates: list[Version], going: set[int]) -> dict[int, int]:
    """The bytes of each artifact, counted once, with the last of its versions, and only if every one of them goes."""
    artifacts = Artifact.objects.filter(versions__in=going).annotate(users=Count("versions", distinct=True))
    users = {artifact.pk: (artifact.users, artifact.unpacked_bytes) for artifact in artifacts.defer("files")}
    by_artifact: dict[int, list[int]] = defaultdict(list)
    for version in candidates:
        if version.pk in going and version.artifact_id is not None:
            by_artifact[version.artifact_id].append(version.pk)
    shared = Artifact.objects.filter(pk__in=by_artifact).values_list("pk", "versions")
    alone = {pk for pk in by_artifact if all(version in going for key, version in shared if key == pk)}
    return {by_artifact[pk][0]: users[pk][1] for pk in alone}
