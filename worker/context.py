"""What a step gets to work with."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from apps.deployments import services
from apps.deployments.selectors import Candidate, Work
from apps.serving.protocol import IndexEntry, Readiness, ServingBackend
from worker.memory import Glance

# How long one call outside may take before the step asks to be called again.
PATIENCE_S = 10.0
# With more servers than this at once a call may only take so long: it goes on by itself, and its thread is needed.
FEW, CROWDED_PATIENCE_S = 8, 0.25
# When to ask what became of a load: a tenth of its time so far, within these.
POLL_S, LONGEST_POLL_S = 0.5, 5.0
# And where more are on their way: twice its time so far, at least so long, at most so long for each of them.
CROWDED_POLL_S, POLL_EACH_S = 1.0, 0.02


@dataclass(slots=True)
class Context:
    """One call of one step: the work, the server's connection, and the step's own memory.

    `step` is the step's row; its memory survives a killed worker and is written before the world is touched.
    """

    work: Work
    backend: ServingBackend
    step: Any
    now: datetime
    # What the server says of its memory while other things are done; see `worker.steps._memory`.
    glance: Glance | None = None
    # The server's index as it was read last, until something is sent that changes it.
    index: tuple[IndexEntry, ...] | None = None

    @property
    def new(self) -> Candidate:
        """The version this run brings (or brings back)."""
        if self.work.new is None:
            raise ValueError(f"{self.work.run} has no version to bring")
        return self.work.new

    def recall(self, key: str, default: Any = None) -> Any:
        """What an earlier call of this step remembered."""
        return self.step.memory.get(key, default)

    def remember(self, **memory: Any) -> None:
        """Keep it before acting on it."""
        services.remember(self.step, **memory)

    @property
    def patience_s(self) -> float:
        """How long a load may hold this thread; one that is sent again is waited for, whose answer alone may tell."""
        is_few = self.work.at_once <= FEW
        return PATIENCE_S if is_few or self.recall("let_go_at_s") is not None else CROWDED_PATIENCE_S

    @property
    def poll_s(self) -> float:
        """In how long to ask what became of a load: the longer it takes, and the more there are, the later."""
        so_far_s, at_once = self.seconds_in_step(), self.work.at_once
        if at_once <= FEW:
            return max(POLL_S, min(so_far_s / 10, LONGEST_POLL_S))
        return max(CROWDED_POLL_S, min(so_far_s * 2, at_once * POLL_EACH_S))

    def bear_in_mind(self, **memory: Any) -> None:
        """Keep it with whatever is remembered next: it costs nothing, and done again it would do no harm."""
        self.step.memory = {**self.step.memory, **memory}

    def seconds_in_step(self) -> float:
        """Since the step began, over all its calls."""
        return float((self.now - self.step.started_at).total_seconds())

    def entries(self, model: str) -> dict[int, IndexEntry]:
        """The server's index lines for one model, by version, as they are now."""
        self.index = self.work.home.index(self.backend)
        return self.entries_seen(model)

    def entries_seen(self, model: str) -> dict[int, IndexEntry]:
        """The same as it was last read in this call; as it is now where a load was sent since."""
        if self.index is None:
            return self.entries(model)
        return {entry.version: entry for entry in self.index if entry.model == model and entry.version is not None}

    def load(self, model: str, config: Mapping[str, Any], *, versions: Collection[int]) -> None:
        """Have the server load exactly `versions`, with the files that its kind of repository does not give it."""
        work, self.index = self.work, None
        left_s = work.load_deadline_s - self.seconds_in_step()
        patience_s = work.home.load_patience_s(usual_s=self.patience_s, deadline_s=left_s)
        self.backend.load(model, config=config, files=work.carried(versions), timeout_s=patience_s)

    def ready_versions(self, model: str) -> set[int]:
        """The versions of a model that serve now."""
        return {n for n, entry in self.entries(model).items() if entry.state == Readiness.READY}
