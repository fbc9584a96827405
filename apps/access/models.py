"""Roles of people, tokens of scripts, and answers kept for repeated requests."""

from django.conf import settings
from django.db import models
from django.utils import timezone

from apps.access.verbs import Role

EVERYWHERE = "*"


class Grant(models.Model):
    """A person's role in one environment, by name, or everywhere (`*`)."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="grants")
    environment = models.CharField(max_length=128, default=EVERYWHERE)
    role = models.CharField(max_length=16, choices=[(role.value, role.value.title()) for role in Role])

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "environment"], name="one_grant_per_environment")]

    def __str__(self) -> str:
        return f"{self.user}: {self.role} in {self.environment}"


class ApiToken(models.Model):
    """A bearer token for CI: only its SHA-256 is kept.

    `issued_by` is a name, of a person, a token or Conch itself as `issued_by_kind` says: names of tokens repeat, and
    may be those of people, so the token that issued it is kept too.
    """

    name = models.CharField(max_length=128)
    digest = models.CharField(max_length=64, unique=True)
    scopes = models.JSONField(default=list)
    environment = models.CharField(max_length=128, default=EVERYWHERE)
    issued_by = models.CharField(max_length=200)
    issued_by_kind = models.CharField(max_length=16, default="user", db_default="user")
    issued_by_token = models.ForeignKey("self", on_delete=models.PROTECT, null=True, related_name="issued")
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.name


class IdempotencyKey(models.Model):
    """The answer to a POST that may be sent again: same key and body, same answer."""

    actor = models.CharField(max_length=220)
    key = models.CharField(max_length=200)
    fingerprint = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(null=True)
    body = models.JSONField(null=True)
    created_at = models.DateTimeField(default=timezone.now, db_index=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["actor", "key"], name="one_answer_per_key")]

    def __str__(self) -> str:
        return f"{self.actor}: {self.key}"
