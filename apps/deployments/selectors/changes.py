"""What a rollout brings: the same for all its runs, so a process reads it once for many of them."""

import threading
import time
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from apps.deployments.models import Rollout, StepRun
from apps.deployments.policy import Policy
from apps.deployments.selectors.memory import Expectations, expectations
from apps.deployments.selectors.policies import rollout_policy
from apps.deployments.selectors.warmups import proven_warmups
from apps.deployments.states import RunDirection, StepState
from apps.fleet.models import Repository
from apps.registry.models import Model

# What the rows say may change under it (a model's load deadline, say), so it is read again after a while.
KEPT_S = 5.0
MOST_KEPT = 32

_STANDS_ON = (
    "placement__environment",
    "placement__model",
    "placement__standby__artifact",
    "from_version__artifact",
    "to_version__artifact",
    "from_overlay",
    "to_overlay",
    "release",
)


@dataclass(frozen=True)
class Change:
    """A rollout with the versions, overlays and policy it stands on. Shared by threads: nobody changes it."""

    row: Rollout
    read_at_s: float

    @cached_property
    def policy(self) -> Policy:
        """The policy it began under."""
        return rollout_policy(self.row)

    @cached_property
    def proven(self) -> dict[int, list[dict[str, Any]]]:
        """The warm-ups that were proven when it was read."""
        return proven_warmups(self.versions)

    @cached_property
    def takes(self) -> Expectations:
        """What memory each of its versions takes, as far as was known when it was read."""
        row = self.row
        versions = (row.from_version, row.to_version, row.placement.standby)
        return expectations(row.placement.model.name, {one.number for one in versions if one is not None})

    @cached_property
    def repositories(self) -> Mapping[int, Repository]:
        """Where the servers of its environment take their models from, by key."""
        return Repository.objects.filter(environment=self.row.placement.environment_id).in_bulk()

    @property
    def model(self) -> Model:
        """The model that it moves, for one caller, who may change it."""
        return copy(self.row.placement.model)

    @property
    def versions(self) -> set[int | None]:
        """Those it is between, and the standby."""
        return {self.row.from_version_id, self.row.to_version_id, self.row.placement.standby_id}

    def rollout(self, *, state: str, wave: int) -> Rollout:
        """Its row for one caller, who may change it, as far as it has got by now."""
        own = copy(self.row)
        own.state, own.wave = state, wave
        return own


# By key and by when the rollout was made: a key alone may come again in a database that was put back.
_kept: dict[tuple[int, datetime], Change] = {}
# Of threads that find it too old at the same moment one reads it, and the others have what that one read.
_reading = threading.Lock()


def change_of(rollout_id: int, *, created_at: datetime) -> Change:
    """The change that a rollout makes, as it was read a moment ago."""
    key = (rollout_id, created_at)
    with _reading:
        found = _kept.get(key)
        if found is None or time.monotonic() - found.read_at_s > KEPT_S:
            found = Change(Rollout.objects.select_related(*_STANDS_ON).get(pk=rollout_id), time.monotonic())
            if len(_kept) >= MOST_KEPT:
                _kept.clear()
            _kept[key] = found
    return found


def warmups_for(change: Change, *, direction: str, shadow: StepRun | None) -> Mapping[int, list[dict[str, Any]]]:
    """The warm-ups that a run may rely on: what its own try proved, else what was known before.

    What settles or puts back comes after every try of its rollout, and must not miss what those proved.
    """
    if direction != RunDirection.FORWARD:
        return proven_warmups(change.versions)
    if shadow is None or shadow.state != StepState.SUCCEEDED or change.row.to_version_id is None:
        return change.proven
    return {**change.proven, change.row.to_version_id: list(shadow.detail.get("warmup", []))}
