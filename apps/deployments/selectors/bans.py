"""What must not go live again, and where."""

from django.db.models import QuerySet

from apps.deployments import plan
from apps.deployments.errors import BanUnknown
from apps.deployments.models import Ban, Placement, Rollout
from apps.deployments.selectors.placements import without_large
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


def is_banned(gone: Rollout) -> bool:
    """Whether what a rollout brought is banned there."""
    return gone.to_version is not None and ban_on(gone.placement, gone.to_version) is not None


def lacks_ban(gone: Rollout) -> bool:
    """Whether what it brought is other than what was there before, and may come again."""
    return _may_come_again(gone.placement, gone.to_version, gone.from_version)


def left_unbanned(rollback: Rollout) -> Version | None:
    """What a rollback took away and nobody was asked to ban with it; None where that is banned, or was until lifted."""
    taken_from = rollback.superseded.exclude(to_version=None).order_by("pk").last()
    bad = (taken_from.to_version if taken_from else None) or rollback.from_version
    is_open = _may_come_again(rollback.placement, bad, rollback.to_version) and not rollback.bans.exists()
    return bad if is_open else None


def _may_come_again(placement: Placement, bad: Version | None, good: Version | None) -> bool:
    """Whether `bad` is other than the version beside it, and no ban keeps it away there."""
    if bad is None or (good is not None and are_same(bad, good)):
        return False
    return ban_on(placement, bad) is None


def _have_same_files(one: Version, other: Version) -> bool:
    """By digest and by place in the version; False where the files of either are not known."""
    return bool(_files(one)) and _files(one) == _files(other)


def _files(version: Version) -> frozenset[tuple[str, str]]:
    """But for the configuration: that is compared by what it means."""
    files = version.artifact.files if version.artifact else []
    return frozenset((file["path"], file["sha256"]) for file in files if file["path"] != "config.pbtxt")
