"""Changing desired state, and walking the changes to their end."""

from apps.deployments.services.aborting import abort
from apps.deployments.services.archiving import archive_version
from apps.deployments.services.clock import (
    claim_due_warmups,
    forget_old_probes,
    record_probe,
    schedule_warmup,
)
from apps.deployments.services.policies import add_environment, change_policy, update_environment
from apps.deployments.services.requests import promote, retire_standby, roll_back, unload
from apps.deployments.services.retiring import retire_server
from apps.deployments.services.rollouts import advance_rollout
from apps.deployments.services.runs import (
    begin_step,
    claim_run,
    end_run,
    is_wanted,
    note_change,
    pass_step,
    release_run,
    remember,
    renew_lease,
    reroute,
    wait_in_step,
)

__all__ = [
    "abort",
    "add_environment",
    "advance_rollout",
    "archive_version",
    "begin_step",
    "change_policy",
    "claim_due_warmups",
    "claim_run",
    "end_run",
    "forget_old_probes",
    "is_wanted",
    "note_change",
    "pass_step",
    "promote",
    "record_probe",
    "release_run",
    "remember",
    "renew_lease",
    "reroute",
    "retire_server",
    "retire_standby",
    "roll_back",
    "schedule_warmup",
    "unload",
    "update_environment",
    "wait_in_step",
]
