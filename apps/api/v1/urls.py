"""Paths of version 1."""

from django.urls import URLPattern, URLResolver, path

from apps.api.v1 import (
    access,
    audit,
    controls,
    deployments,
    fleet,
    holds,
    metrics,
    overlays,
    policies,
    problems,
    registry,
    rollouts,
    servers,
    trials,
    uploads,
    versions,
)

Paths = list[URLPattern | URLResolver]

REGISTRY: Paths = [
    path("models", registry.Models.as_view(), name="models"),
    path("models/<name:name>", registry.Model.as_view(), name="model"),
    path("models/<name:name>/versions", versions.Versions.as_view(), name="versions"),
    path("models/<name:name>/versions/<number:number>", versions.Version.as_view(), name="version"),
    path("models/<name:name>/versions/<number:number>/diff", versions.VersionDiff.as_view(), name="version-diff"),
    path(
        "models/<name:name>/versions/<number:number>/archive",
        versions.VersionArchive.as_view(),
        name="version-archive",
    ),
    path("uploads/", uploads.Uploads.as_view(), name="uploads"),
    path("uploads/<name:upload_id>", uploads.Upload.as_view(), name="upload"),
    path("artifacts/<name:sha256>", uploads.Artifact.as_view(), name="artifact"),
    path("models/<name:name>/aliases/<name:alias>", registry.Alias.as_view(), name="alias"),
    path("models/<name:name>/samples", registry.Samples.as_view(), name="samples"),
    path("models/<name:name>/samples/<name:sample>", registry.Sample.as_view(), name="sample"),
]
FLEET: Paths = [
    path("environments", fleet.Environments.as_view(), name="environments"),
    path("environments/<name:name>", fleet.Environment.as_view(), name="environment"),
    path("repositories", fleet.Repositories.as_view(), name="repositories"),
    path("servers", servers.Servers.as_view(), name="servers"),
    path("servers/<name:name>", servers.Server.as_view(), name="server"),
    path("servers/<name:name>/recheck", servers.ServerRecheck.as_view(), name="server-recheck"),
    path("servers/<name:name>/cordon", servers.ServerCordon.as_view(), name="server-cordon"),
    path("servers/<name:name>/uncordon", servers.ServerUncordon.as_view(), name="server-uncordon"),
    path("servers/<name:name>/retire", servers.ServerRetire.as_view(), name="server-retire"),
    path("servers/<name:name>/reconcile", servers.ServerReconcile.as_view(), name="server-reconcile"),
    path("servers/<name:name>/in-service", servers.ServerInService.as_view(), name="server-in-service"),
    path("drift", servers.Drift.as_view(), name="drift"),
    path("health", fleet.Health.as_view(), name="health"),
    path("sd/prometheus", fleet.PrometheusTargets.as_view(), name="prometheus-targets"),
]
DEPLOYMENTS: Paths = [
    path("environments/<name:name>/policy", policies.Policy.as_view(), name="policy"),
    path("environments/<name:name>/policies", policies.Policies.as_view(), name="policies"),
    path("placements", deployments.Placements.as_view(), name="placements"),
    path("placements/<name:environment>/<name:name>", deployments.Placement.as_view(), name="placement"),
    path(
        "placements/<name:environment>/<name:name>/warmup-schedule",
        deployments.WarmupSchedule.as_view(),
        name="warmup-schedule",
    ),
    path("placements/<name:environment>/<name:name>/hold", holds.PlacementHold.as_view(), name="placement-hold"),
    path("placements/<name:environment>/<name:name>/unhold", holds.PlacementUnhold.as_view(), name="placement-unhold"),
    path("bans", holds.Bans.as_view(), name="bans"),
    path("bans/<number:ban_id>", holds.Ban.as_view(), name="ban"),
    path("bans/<number:ban_id>/lift", holds.BanLift.as_view(), name="ban-lift"),
    path("placements/<name:environment>/<name:name>/overlay", overlays.Overlay.as_view(), name="overlay"),
    path("placements/<name:environment>/<name:name>/overlays", overlays.Overlays.as_view(), name="overlays"),
    path(
        "placements/<name:environment>/<name:name>/overlays/try",
        overlays.OverlayTrials.as_view(),
        name="overlay-trial",
    ),
    path("probes", deployments.Probes.as_view(), name="probes"),
    path("rollouts", rollouts.Rollouts.as_view(), name="rollouts"),
    path("rollouts/<number:rollout_id>", rollouts.Rollout.as_view(), name="rollout"),
    path("rollouts/<number:rollout_id>/abort", rollouts.RolloutAbort.as_view(), name="rollout-abort"),
    path("rollouts/<number:rollout_id>/pause", controls.RolloutPause.as_view(), name="rollout-pause"),
    path("rollouts/<number:rollout_id>/resume", controls.RolloutResume.as_view(), name="rollout-resume"),
    path("rollouts/<number:rollout_id>/approve", controls.RolloutApproval.as_view(), name="rollout-approve"),
    path("rollouts/<number:rollout_id>/retry", controls.RolloutRetry.as_view(), name="rollout-retry"),
    path("rollouts/<number:rollout_id>/skip-gate", controls.RolloutGateSkip.as_view(), name="rollout-skip-gate"),
    path("rollouts/<number:rollout_id>/judgements", controls.Judgements.as_view(), name="judgements"),
    path("rollbacks", rollouts.Rollbacks.as_view(), name="rollbacks"),
    path("trials", trials.Trials.as_view(), name="trials"),
    path("trials/<number:trial_id>", trials.Trial.as_view(), name="trial"),
    path("unloads", rollouts.Unloads.as_view(), name="unloads"),
]
ACCESS: Paths = [
    path("me", access.Me.as_view(), name="me"),
    path("tokens", access.Tokens.as_view(), name="tokens"),
    path("tokens/<number:token_id>", access.Token.as_view(), name="token"),
    path("users", access.Users.as_view(), name="users"),
    path("users/<name:username>", access.User.as_view(), name="user"),
    path("users/<name:username>/grants/<scope:environment>", access.Grant.as_view(), name="grant"),
    path("audit", audit.Events.as_view(), name="audit"),
    path("problems", problems.Problems.as_view(), name="problems"),
    path("problems/<slug:code>", problems.Problem.as_view(), name="problem"),
]
urlpatterns: Paths = [*REGISTRY, *FLEET, *DEPLOYMENTS, *metrics.urlpatterns, *ACCESS]
