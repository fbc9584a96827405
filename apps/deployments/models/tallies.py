"""What is kept of rollouts that ended long ago, so that nobody counts all of history again."""

from django.db import models

from apps.fleet.models import Environment


class RolloutTally(models.Model):
    """Rollouts of one kind in one environment that ended in one way, among those up to `upto_id`.

    All rows have the same `upto_id`: whatever came later is counted from the rollouts themselves. `below` maps seconds
    to how many took no longer.
    """

    environment = models.ForeignKey(Environment, on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(max_length=16)
    state = models.CharField(max_length=16)
    count = models.PositiveBigIntegerField()
    sum_s = models.FloatField()
    below = models.JSONField()
    upto_id = models.BigIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["environment", "kind", "state"], name="one_tally_each")]

    def __str__(self) -> str:
        return f"{self.count} of {self.kind} {self.state}"
