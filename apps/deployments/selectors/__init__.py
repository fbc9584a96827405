"""Reading desired state, rollouts and what they need."""

from apps.deployments.selectors.advice import Advice, Advised, advice
from apps.deployments.selectors.bans import ban_on, bans, get_ban
from apps.deployments.selectors.charted import limits_of, question_of
from apps.deployments.selectors.drift import (
    DriftCount,
    Look,
    Told,
    changing_models,
    desired_versions,
    drift_counts,
    kept_drift,
    look,
    server_drift,
    stuck_models,
    told_drift,
)
from apps.deployments.selectors.history import change_moments, placements_at
from apps.deployments.selectors.judgements import due_judgements, judgements_of, latest_judgements
from apps.deployments.selectors.marks import Mark, marks
from apps.deployments.selectors.matrix import (
    Cell,
    Row,
    fleet_rows,
    moving_rollouts,
)
from apps.deployments.selectors.overlays import Effect, document_of, effect, overlay_history, previous_number
from apps.deployments.selectors.placements import get_placement, placements, probes
from apps.deployments.selectors.policies import (
    policies,
    policy_in,
    policy_of,
    policy_row,
    rollout_policy,
    with_policies,
)
from apps.deployments.selectors.releases import (
    barrier_waits_for,
    get_release,
    has_release_ended,
    release_state,
    releases,
)
from apps.deployments.selectors.reports import Report, report
from apps.deployments.selectors.retention import Judged, Retention, keep_of, retention
from apps.deployments.selectors.rollouts import (
    active_rollout,
    due_rollouts,
    due_runs,
    expired_standbys,
    get_rollout,
    get_run,
    has_ended,
    last_live,
    rollouts,
    state_of,
    with_progress,
)
from apps.deployments.selectors.serving import InService, in_service
from apps.deployments.selectors.targets import (
    Target,
    default_target,
    hot_servers,
    rollback_reach,
    rollback_targets,
)
from apps.deployments.selectors.trials import get_trial, request_entries, servers_serving, trial_has_ended, trials
from apps.deployments.selectors.work import Candidate, Work, work

__all__ = [
    "Advice",
    "Advised",
    "Candidate",
    "Cell",
    "DriftCount",
    "Effect",
    "InService",
    "Judged",
    "Look",
    "Mark",
    "Report",
    "Retention",
    "Row",
    "Target",
    "Told",
    "Work",
    "active_rollout",
    "advice",
    "ban_on",
    "bans",
    "barrier_waits_for",
    "change_moments",
    "changing_models",
    "default_target",
    "desired_versions",
    "document_of",
    "drift_counts",
    "due_judgements",
    "due_rollouts",
    "due_runs",
    "effect",
    "expired_standbys",
    "fleet_rows",
    "get_ban",
    "get_placement",
    "get_release",
    "get_rollout",
    "get_run",
    "get_trial",
    "has_ended",
    "has_release_ended",
    "hot_servers",
    "in_service",
    "judgements_of",
    "keep_of",
    "kept_drift",
    "last_live",
    "latest_judgements",
    "limits_of",
    "look",
    "marks",
    "moving_rollouts",
    "overlay_history",
    "placements",
    "placements_at",
    "policies",
    "policy_in",
    "policy_of",
    "policy_row",
    "previous_number",
    "probes",
    "question_of",
    "release_state",
    "releases",
    "report",
    "request_entries",
    "retention",
    "rollback_reach",
    "rollback_targets",
    "rollout_policy",
    "rollouts",
    "server_drift",
    "servers_serving",
    "state_of",
    "stuck_models",
    "told_drift",
    "trial_has_ended",
    "trials",
    "with_policies",
    "with_progress",
    "work",
]
