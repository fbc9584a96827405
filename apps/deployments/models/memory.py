"""What loads and unloads did to the memory of servers."""

from django.db import models
from django.db.models import Q

from apps.fleet.models import Server


class MemoryReading(models.Model):
    """A server's memory before something was loaded or unloaded there, and after all that followed at once.

    `loaded` is what served at the beginning, as [model, version]. `action`, `model` and `version` tell what made the
    difference where exactly one version came or went. `before` and `after` are devices: {kind, device, used, total}.
    """

    server = models.ForeignKey(Server, on_delete=models.CASCADE, related_name="memory_readings")
    began_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    before = models.JSONField(default=list)
    after = models.JSONField(default=list)
    loaded = models.JSONField(default=list)
    action = models.CharField(max_length=16, blank=True)
    model = models.CharField(max_length=255, blank=True)
    version = models.BigIntegerField(default=0)
    remark = models.CharField(max_length=300, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["server"], condition=Q(ended_at__isnull=True), name="one_open_reading_per_server"
            )
        ]
        indexes = [
            models.Index(fields=["model", "version", "-began_at"], name="memory_of_version"),
            models.Index(fields=["server", "-began_at"], name="memory_of_server"),
        ]

    def __str__(self) -> str:
        return f"{self.server} at {self.began_at:%H:%M:%S}"
