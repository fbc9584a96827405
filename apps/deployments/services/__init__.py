"""Changing desired state, and walking the changes to their end."""

from apps.deployments.services.aborting import abort
from apps.deployments.services.archiving import archive_version
from apps.deployments.services.bans import lift_ban
from apps.deployments.services.captures import capture_golden
from apps.deployments.services.catching_up import catch_up
from apps.deployments.services.clock import (
    claim_due_warmups,
    forget_old_probes,
    record_probe,
    record_probes,
    schedule_warmup,
)
from apps.deployments.services.controls import approve, pause, resume, retry_run, skip_gate
from apps.deployments.services.holds import hold, unhold
from apps.deployments.services.judging import claim_look, keep_judgements, probes_of, synthetic_made
from apps.deployments.services.memory import (
    begin_reading,
    end_reading,
    give_up_reading,
    is_measuring,
    note_reconfiguring,
)
from apps.deployments.services.overlays import restore_overlay, set_overlay
from apps.deployments.services.pausing import can_pause, pause_for_neighbours
from apps.deployments.services.planning import plan_promotion
from apps.deployments.services.planning_releases import plan_release
from apps.deployments.services.policies import add_environment, change_policy, update_environment
from apps.deployments.services.releases import approve_release, begin_release, pause_release, resume_release
from apps.deployments.services.releases_back import abort_release, roll_back_release
from apps.deployments.services.requests import promote, retire_standby, unload
from apps.deployments.services.retention import apply_retention, remove_version_bytes, require_removable
from apps.deployments.services.retiring import retire_server
from apps.deployments.services.rolling_back import roll_back
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
from apps.deployments.services.tallies import tally_ended
from apps.deployments.services.telling import tell_once
from apps.deployments.services.trials import begin_trial, end_trial, forget_old_trials, sweep_trials, try_version
from apps.deployments.services.turning import turn_back_by_gate
from apps.deployments.services.waking import runs_to_wake, wake_at_barrier

__all__ = [
    "abort",
    "abort_release",
    "add_environment",
    "advance_rollout",
    "apply_retention",
    "approve",
    "approve_release",
    "archive_version",
    "begin_reading",
    "begin_release",
    "begin_step",
    "begin_trial",
    "can_pause",
    "capture_golden",
    "catch_up",
    "change_policy",
    "claim_due_warmups",
    "claim_look",
    "claim_run",
    "end_reading",
    "end_run",
    "end_trial",
    "forget_old_probes",
    "forget_old_trials",
    "give_up_reading",
    "hold",
    "is_measuring",
    "is_wanted",
    "keep_judgements",
    "lift_ban",
    "note_change",
    "note_reconfiguring",
    "pass_step",
    "pause",
    "pause_for_neighbours",
    "pause_release",
    "plan_promotion",
    "plan_release",
    "probes_of",
    "promote",
    "record_probe",
    "record_probes",
    "release_run",
    "remember",
    "remove_version_bytes",
    "renew_lease",
    "require_removable",
    "reroute",
    "restore_overlay",
    "resume",
    "resume_release",
    "retire_server",
    "retire_standby",
    "retry_run",
    "roll_back",
    "roll_back_release",
    "runs_to_wake",
    "schedule_warmup",
    "set_overlay",
    "skip_gate",
    "sweep_trials",
    "synthetic_made",
    "tally_ended",
    "tell_once",
    "try_version",
    "turn_back_by_gate",
    "unhold",
    "unload",
    "update_environment",
    "wait_in_step",
    "wake_at_barrier",
]
