"""Several models that go live together, or not at all."""

from django.db import models
from django.utils import timezone

from apps.fleet.models import Environment


class Release(models.Model):
    """One rollout per model, switched together: what one of them decides holds for all.

    `decision` is empty while they move, then `go` or `back`; it is taken once, by compare-and-set, and never changed.
    `items` maps each model to the version it is to go to. `turned_*` say who sent the whole back, while it moved or
    later, and why.
    """

    environment = models.ForeignKey(Environment, on_delete=models.PROTECT, related_name="releases")
    items = models.JSONField(default=dict)
    reason = models.TextField(blank=True)
    actor = models.CharField(max_length=200)
    actor_kind = models.CharField(max_length=16)
    created_at = models.DateTimeField(default=timezone.now, db_index=True)
    decision = models.CharField(max_length=8, blank=True)
    decided_at = models.DateTimeField(null=True)
    error = models.JSONField(default=dict)
    turned_at = models.DateTimeField(null=True)
    turned_by = models.CharField(max_length=200, blank=True)
    turned_because = models.TextField(blank=True)

    def __str__(self) -> str:
        return f"release {self.pk}"
