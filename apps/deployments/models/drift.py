"""Where servers differ from what is desired."""

from django.db import models
from django.db.models import Q

from apps.fleet.models import Server


class Drift(models.Model):
    """One difference between what a server should hold and what it holds, from when it was seen until it was gone.

    A row is written when it begins and when it ends, never in between, but for what is being done about it:
    `why_not` says why nothing is, `next_try_at` when something will be. `model` is empty for the server as a whole.
    """

    server = models.ForeignKey(Server, on_delete=models.CASCADE, related_name="drift")
    model = models.CharField(max_length=255, blank=True)
    version = models.BigIntegerField(default=0)
    kind = models.CharField(max_length=16)
    reason = models.TextField(blank=True)
    since = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    why_not = models.CharField(max_length=500, blank=True)
    next_try_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["server", "model", "version", "kind"],
                condition=Q(ended_at__isnull=True),
                name="one_open_row_per_difference",
            )
        ]
        indexes = [models.Index(fields=["server", "-since"], name="drift_recent")]

    def __str__(self) -> str:
        what = f"{self.model} {self.version} " if self.model else ""
        return f"{self.server}: {what}{self.kind}"
