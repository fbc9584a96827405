"""The append-only record of every change."""

from typing import Any, NoReturn

from django.db import models

from apps.common.errors import Conflict


class AuditIsAppendOnly(Conflict):
    """Somebody tried to change or remove what has been recorded."""

    code = "audit_is_append_only"
    title = "The audit cannot be changed"


class Event(models.Model):
    """One thing that was done: by whom, through which door, to what, why."""

    at = models.DateTimeField(db_index=True)
    verb = models.CharField(max_length=64)
    actor_kind = models.CharField(max_length=16)
    actor = models.CharField(max_length=200)
    door = models.CharField(max_length=16)
    address = models.CharField(max_length=64, blank=True)
    subject_kind = models.CharField(max_length=32)
    subject = models.CharField(max_length=300)
    environment = models.CharField(max_length=128, blank=True)
    model = models.CharField(max_length=128, blank=True)
    reason = models.TextField(blank=True)
    detail = models.JSONField(default=dict)

    class Meta:
        indexes = [
            models.Index(fields=["subject_kind", "subject", "-at"], name="event_subject"),
            models.Index(fields=["model", "environment", "-at"], name="event_placement"),
        ]

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M:%S} {self.actor} {self.verb} {self.subject_kind} {self.subject}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Write a new event; an existing one cannot be written again."""
        if not self._state.adding:
            raise AuditIsAppendOnly(f"event {self.pk} is already recorded")
        super().save(*args, **kwargs)

    def delete(self, *_: Any, **__: Any) -> NoReturn:
        """Never."""
        raise AuditIsAppendOnly(f"event {self.pk} stays recorded")
