"""What must not go live again, and where."""

from django.db.models import QuerySet

from apps.deployments import plan
from apps.deployments.errors import BanUnknown
from apps.deployments.models import Ban, Placement
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


def ban_on(placement: Placement, version: Version) -> Ban | None:
    """The ban in force on a version's bytes and configuration there."""
    return bans(active=True).filter(placement=placement, **identity(version)).first()
