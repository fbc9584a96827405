"""Desired state, the changes on their way to it, and what is kept of them."""

from apps.deployments.models.drift import Drift
from apps.deployments.models.going_back import Ban, PlacementChange
from apps.deployments.models.memory import MemoryReading
from apps.deployments.models.policies import EnvironmentPolicy
from apps.deployments.models.releases import Release
from apps.deployments.models.rollouts import (
    Judgement,
    Overlay,
    Placement,
    Probe,
    Rollout,
    Run,
    StepRun,
    WarmupSchedule,
)
from apps.deployments.models.tallies import RolloutTally
from apps.deployments.models.trials import Trial

__all__ = [
    "Ban",
    "Drift",
    "EnvironmentPolicy",
    "Judgement",
    "MemoryReading",
    "Overlay",
    "Placement",
    "PlacementChange",
    "Probe",
    "Release",
    "Rollout",
    "RolloutTally",
    "Run",
    "StepRun",
    "Trial",
    "WarmupSchedule",
]
