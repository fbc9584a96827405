"""What was live when, and what must not go live again."""

from typing import Any

from django.db import models
from django.db.models import Q
from django.utils import timezone

from apps.deployments.errors import HistoryIsAppendOnly
from apps.deployments.models.rollouts import Overlay, Placement, Rollout
from apps.registry.models import Version


class Ban(models.Model):
    """A version that must not go live in one place again until somebody lifts the ban.

    It holds for these bytes under this configuration, whatever number they come back with.
    """

    placement = models.ForeignKey(Placement, on_delete=models.CASCADE, related_name="bans")
    version = models.ForeignKey(Version, on_delete=models.PROTECT, related_name="+")
    artifact_digest = models.CharField(max_length=64)
    config_digest = models.CharField(max_length=64)
    rollout = models.ForeignKey(Rollout, on_delete=models.SET_NULL, null=True, related_name="bans")
    reason = models.TextField()
    actor = models.CharField(max_length=200)
    actor_kind = models.CharField(max_length=16)
    at = models.DateTimeField(default=timezone.now, db_index=True)
    lifted_at = models.DateTimeField(null=True)
    lifted_by = models.CharField(max_length=200, blank=True)
    lift_reason = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["placement", "artifact_digest", "config_digest"],
                condition=Q(lifted_at__isnull=True),
                name="one_ban_in_force",
            )
        ]

    def __str__(self) -> str:
        return f"ban of {self.version} in {self.placement.environment}"


class PlacementChange(models.Model):
    """One move of a placement's pointers, as it was made: append-only, in the move's own transaction.

    `what` is `begun` (a promotion has changed its first server: `coming` is there already), `done` or `put_back`.
    `overlay` is what the environment set otherwise in the configuration of `active`; None is as it was uploaded.
    """

    placement = models.ForeignKey(Placement, on_delete=models.CASCADE, related_name="changes")
    at = models.DateTimeField()
    what = models.CharField(max_length=16)
    active = models.ForeignKey(Version, on_delete=models.PROTECT, null=True, related_name="+")
    standby = models.ForeignKey(Version, on_delete=models.PROTECT, null=True, related_name="+")
    coming = models.ForeignKey(Version, on_delete=models.PROTECT, null=True, related_name="+")
    overlay = models.ForeignKey(Overlay, on_delete=models.PROTECT, null=True, related_name="+")
    rollout = models.ForeignKey(Rollout, on_delete=models.PROTECT, related_name="changes")
    actor = models.CharField(max_length=200)
    actor_kind = models.CharField(max_length=16)
    reason = models.TextField(blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["rollout", "what"], name="each_change_once")]
        indexes = [models.Index(fields=["placement", "-at", "-id"], name="change_at")]

    def __str__(self) -> str:
        return f"{self.placement} at {self.at:%Y-%m-%d %H:%M:%S}"

    @property
    def differs_in(self) -> tuple[str, ...]:
        """Which pointers stand elsewhere now: `active`, `standby`, `overlay`."""
        now = self.placement
        pairs = {
            "active": (self.active_id, now.active_id),
            "standby": (self.standby_id, now.standby_id),
            "overlay": (self.overlay_id, now.overlay_id),
        }
        return tuple(name for name, (then, is_now) in pairs.items() if then != is_now)

    @property
    def differs(self) -> bool:
        """Whether anything of it stands elsewhere now."""
        return bool(self.differs_in)

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Write a new change; history cannot be written again."""
        if not self._state.adding:
            raise HistoryIsAppendOnly(f"{self} is already recorded")
        super().save(*args, **kwargs)
