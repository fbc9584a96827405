"""Steps of a moving rollout, made as a worker makes them. Runs inside Django, beside the page that is watched."""

import json
import time
from pathlib import Path

from django.utils import timezone

from apps.deployments.models import Run

STEPS = 20
# So far apart, and never in step with a page that asks at even times.
APART_S = 1.37


def make_steps(rollout: int, out: str) -> None:
    """Change what a run waits for again and again; write to `out` when each was committed, by its words."""
    runs, made = Run.objects.filter(rollout=rollout, state="running"), {}
    first = runs.order_by("pk").values_list("pk", flat=True)[0]
    for number in range(STEPS):
        time.sleep(APART_S)
        words = f"step {number} of the bench"
        Run.objects.filter(pk=first).update(waiting_for=words, due_at=timezone.now())
        made[words] = time.time()
    Path(out).write_text(json.dumps(made))
