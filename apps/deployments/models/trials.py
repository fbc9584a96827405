"""Requests that people make by hand."""

from collections.abc import Mapping
from typing import ClassVar

from django.db import models
from django.utils import timezone

from apps.deployments.states import TRIAL_MOVES, TrialState
from apps.fleet.models import Server
from apps.registry.models import Model


class Trial(models.Model):
    """One request that somebody makes by hand to one version on one server, from a worker.

    `inputs` are entries as in a sample. `answer` is {"outputs": entries with the first values, "latency_us",
    "spent": {queue_us, input_us, infer_us, output_us, requests}}, the last from the server's own statistics.
    """

    MOVES: ClassVar[Mapping[str, frozenset[str]]] = TRIAL_MOVES

    model = models.ForeignKey(Model, on_delete=models.CASCADE, related_name="trials")
    version = models.BigIntegerField()
    server = models.ForeignKey(Server, on_delete=models.CASCADE, related_name="trials")
    state = models.CharField(max_length=16, default=TrialState.QUEUED)
    inputs = models.JSONField()
    answer = models.JSONField(default=dict)
    error = models.JSONField(default=dict)
    created_by = models.CharField(max_length=200)
    created_at = models.DateTimeField(default=timezone.now)
    due_at = models.DateTimeField(default=timezone.now)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["state", "due_at"], name="trial_due"),
            models.Index(fields=["model", "version", "-created_at"], name="trial_recent"),
        ]

    def __str__(self) -> str:
        return f"trial {self.pk} of {self.model} {self.version} on {self.server}"
