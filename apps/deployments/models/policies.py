"""How promotions go in an environment, as it was set."""

from django.db import models
from django.utils import timezone

from apps.fleet.models import Environment


class EnvironmentPolicy(models.Model):
    """How promotions go in an environment, from `at` on. Never changed: the highest number is in force."""

    environment = models.ForeignKey(Environment, on_delete=models.CASCADE, related_name="policies")
    number = models.PositiveIntegerField()
    document = models.JSONField()
    reason = models.TextField(blank=True)
    actor = models.CharField(max_length=200)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["environment", "number"], name="one_policy_per_number")]

    def __str__(self) -> str:
        return f"policy {self.number} of {self.environment}"
