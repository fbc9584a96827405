"""What must not go live again, and where."""

from django.db.models import F, OuterRef, QuerySet, Subquery

from apps.deployments import plan
from apps.deployments.errors import BanUnknown
from apps.deployments.models import Ban, Placement, Rollout
from apps.deployments.selectors.placements import without_large
from apps.fleet.models import ObservedVersion, Server
from apps.registry.models import Version


def bans(*, environment: str = "", model: str = "", active: bool | None = None) -> QuerySet[Ban]:
    """Bans, newest first; `active` are those nobody has lifted."""
    found = Ban.objects.select_related("placement__environment", "placement__model", "version__model")
    found = found.defer(*without_large("version"))
    wanted = {"placement__environment__name": environment, "placement__model__name": model}
    found = found.filter(**{name: value for name, value in wanted.items() if value})
    if active is not None:
        found = found.filter(lifted_at__isnull=active)
    return found.order_by("-pk")


def banned_servers() -> list[tuple[Placement, Server]]:
    """Servers last seen with a banned version ready, each with its placement; two queries, whatever the fleet's size.

    Not while something moves there, and not on the word of a look that is older than the last change.
    """
    in_force = Ban.objects.filter(lifted_at=None, placement__active__isnull=False)
    in_force = in_force.exclude(version=F("placement__active"))
    changed = Rollout.objects.filter(placement=OuterRef("placement")).order_by(F("finished_at").desc(nulls_first=True))
    in_force = in_force.annotate(quiet_since=Subquery(changed.values("finished_at")[:1]))
    rows = in_force.select_related(
        "placement__environment", "placement__model", "placement__active", "placement__overlay", "version"
    )
    wanted = {
        (ban.placement.environment_id, ban.placement.model.name, ban.version.number): ban
        for ban in rows
        if ban.quiet_since is not None
    }
    if not wanted:
        return []
    seen = ObservedVersion.objects.filter(
        state="READY", model__in={key[1] for key in wanted}, version__in={key[2] for key in wanted}
    ).filter(server__state="active", server__observation__is_reachable=True)
    found = []
    for row in seen.select_related("server__observation", "server__environment"):
        ban = wanted.get((row.server.environment_id, row.model, row.version))
        if ban is not None and (row.server.observation.seen_at or ban.at) > ban.quiet_since:
            found.append((ban.placement, row.server))
    return found


def get_ban(ban_id: int) -> Ban:
    """One ban, or BanUnknown."""
    found = bans().filter(pk=ban_id).first()
    if found is None:
        raise BanUnknown(f"there is no ban {ban_id}")
    return found


def identity(version: Version) -> dict[str, str]:
    """What a ban holds on to: the bytes, and the configuration they run under."""
    digest = version.artifact.digest if version.artifact else version.digest
    return {"artifact_digest": digest, "config_digest": plan.config_digest(version.config)}


def are_same(one: Version, other: Version) -> bool:
    """Whether both bring the same bytes under the same configuration, however they were packed."""
    ours, theirs = identity(one), identity(other)
    return ours["config_digest"] == theirs["config_digest"] and (ours == theirs or _have_same_files(one, other))


def ban_on(placement: Placement, version: Version) -> Ban | None:
    """The ban in force on a version's bytes and configuration there, under whatever number and in whatever archive."""
    sought = identity(version)
    in_force = bans(active=True).filter(placement=placement, config_digest=sought["config_digest"])
    for ban in in_force.select_related("version__artifact"):
        if ban.artifact_digest == sought["artifact_digest"] or _have_same_files(ban.version, version):
            return ban
    return None


def _have_same_files(one: Version, other: Version) -> bool:
    """By digest and by place in the version; False where the files of either are not known."""
    return bool(_files(one)) and _files(one) == _files(other)


def _files(version: Version) -> frozenset[tuple[str, str]]:
    """But for the configuration: that is compared by what it means."""
    files = version.artifact.files if version.artifact else []
    return frozenset((file["path"], file["sha256"]) for file in files if file["path"] != "config.pbtxt")
