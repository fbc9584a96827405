"""Page paths. Every page is behind the door; signing in is Django's own."""

from collections.abc import Callable

from django.contrib.auth import views as sign
from django.http import HttpResponseBase
from django.urls import URLPattern, path, reverse_lazy

from apps.console import (
    access,
    audit,
    controls,
    deployments,
    fleet,
    going_back,
    insight,
    overlays,
    plans,
    policies,
    registry,
    releases,
    retention,
    samples,
    search,
    trials,
)
from apps.console import deployments_changes as change_live
from apps.console import fleet_changes as change_fleet
from apps.console import registry_changes as change_registry
from apps.console.door import door

app_name = "console"


def page(route: str, view: Callable[..., HttpResponseBase], name: str) -> URLPattern:
    """A path whose view is behind the door."""
    return path(route, door(view), name=name)


urlpatterns = [
    path("sign-in/", sign.LoginView.as_view(template_name="access/sign_in.html"), name="sign_in"),
    path("sign-out/", sign.LogoutView.as_view(), name="sign_out"),
    path(
        "password/",
        sign.PasswordChangeView.as_view(
            template_name="access/password_form.html", success_url=reverse_lazy("console:fleet")
        ),
        name="password",
    ),
    page("", fleet.overview, "fleet"),
    page("models/", registry.models, "models"),
    page("register/", change_registry.register_model, "register_model"),
    page("models/<str:name>/", registry.model, "model"),
    page("models/<str:name>/change/", change_registry.change_model, "change_model"),
    page("models/<str:name>/upload/", change_registry.upload_version, "upload"),
    page("models/<str:name>/uploads/<str:key>/discard/", change_registry.discard_upload, "discard_upload"),
    page("models/<str:name>/uploads/<str:key>/number/", change_registry.number_upload, "number_upload"),
    page("models/<str:name>/fetch/", change_registry.fetch_version, "fetch"),
    page("models/<str:name>/samples/add/", samples.add_sample, "add_sample"),
    page("models/<str:name>/samples/<str:sample>/remove/", samples.remove_sample, "remove_sample"),
    page("models/<str:name>/alias/", change_registry.point_alias, "point_alias"),
    page("models/<str:name>/alias/<str:alias>/remove/", change_registry.remove_alias, "remove_alias"),
    page("models/<str:name>/versions/<int:number>/", registry.version, "version"),
    page("models/<str:name>/versions/<int:number>/choose/", change_registry.choose_version, "choose"),
    page("models/<str:name>/versions/<int:number>/discard/", change_registry.discard_version, "discard_version"),
    page("models/<str:name>/versions/<int:number>/compare/", registry.compare, "compare"),
    page("models/<str:name>/versions/<int:number>/promote/", change_live.promote, "promote_version"),
    page("models/<str:name>/versions/<int:number>/try/", trials.try_version, "try_version"),
    page("models/<str:name>/versions/<int:number>/archive/", change_live.archive, "archive"),
    page("models/<str:name>/versions/<int:number>/remove-bytes/", retention.remove_bytes, "remove_bytes"),
    page("models/<str:name>/plan/", plans.plan, "plan"),
    page("models/<str:name>/in/<str:environment>/promote/", change_live.promote, "promote"),
    page("models/<str:name>/in/<str:environment>/roll-back/", going_back.roll_back, "roll_back"),
    page("models/<str:name>/in/<str:environment>/hold/", going_back.hold, "hold"),
    page("models/<str:name>/in/<str:environment>/let-go/", going_back.unhold, "unhold"),
    page("bans/<int:ban_id>/lift/", going_back.lift_ban, "lift_ban"),
    page("models/<str:name>/in/<str:environment>/unload/", change_live.unload, "unload"),
    page("models/<str:name>/in/<str:environment>/warm-up/", change_live.warm_up, "warm_up"),
    page("models/<str:name>/<str:environment>/overlay/", overlays.overlay, "overlay"),
    page(
        "models/<str:name>/<str:environment>/overlay/<int:number>/restore/", overlays.restore_overlay, "restore_overlay"
    ),
    page("servers/", fleet.servers, "servers"),
    page("servers/add/", change_fleet.add_server, "add_server"),
    page("servers/<str:name>/", fleet.server, "server"),
    page("servers/<str:name>/change/", change_fleet.change_server, "change_server"),
    page("servers/<str:name>/recheck/", change_fleet.recheck_server, "recheck_server"),
    page("servers/<str:name>/reconcile/", change_fleet.reconcile_server, "reconcile_server"),
    page("servers/<str:name>/cordon/", change_fleet.cordon_server, "cordon_server"),
    page("servers/<str:name>/uncordon/", change_fleet.uncordon_server, "uncordon_server"),
    page("servers/<str:name>/retire/", change_fleet.retire_server, "retire_server"),
    page("environments/", fleet.environments, "environments"),
    page("environments/add/", change_fleet.add_environment, "add_environment"),
    page("environments/<str:name>/change/", change_fleet.change_environment, "change_environment"),
    page("environments/<str:name>/policy/", policies.change_policy, "change_policy"),
    page("repositories/add/", change_fleet.add_repository, "add_repository"),
    page("gpus/", insight.gpus, "gpus"),
    page("insight/devices/", insight.devices, "devices"),
    page("insight/promises/", insight.promises, "promises"),
    page("insight/advice/", insight.advice, "advice"),
    page("retention/", retention.retention, "retention"),
    page("rollouts/", deployments.rollouts, "rollouts"),
    page("rollouts/<int:rollout_id>/", deployments.rollout, "rollout"),
    page("rollouts/<int:rollout_id>/judgements/", deployments.judgements, "judgements"),
    page("rollouts/<int:rollout_id>/abort/", change_live.abort, "abort"),
    page("rollouts/<int:rollout_id>/pause/", controls.pause, "pause"),
    page("rollouts/<int:rollout_id>/resume/", controls.resume, "resume"),
    page("rollouts/<int:rollout_id>/approve/", controls.approve, "approve"),
    page("rollouts/<int:rollout_id>/retry/", controls.retry, "retry"),
    page("rollouts/<int:rollout_id>/skip-gate/", controls.skip_gate, "skip_gate"),
    page("trials/<int:trial_id>/", trials.trial, "trial"),
    page("trials/<int:trial_id>/request.json", trials.trial_body, "trial_body"),
    page("search/", search.search, "search"),
    page("releases/", releases.releases, "releases"),
    page("releases/begin/", releases.begin_release, "begin_release"),
    page("releases/plan/", plans.plan_release, "plan_release"),
    page("releases/<int:release_id>/", releases.release, "release"),
    page("releases/<int:release_id>/approve/", releases.approve_release, "approve_release"),
    page("releases/<int:release_id>/pause/", releases.pause_release, "pause_release"),
    page("releases/<int:release_id>/resume/", releases.resume_release, "resume_release"),
    page("releases/<int:release_id>/abort/", releases.abort_release, "abort_release"),
    page("releases/<int:release_id>/roll-back/", releases.roll_back_release, "roll_back_release"),
    page("audit/", audit.events, "audit"),
    page("audit/export.csv", audit.export, "audit_export"),
    page("tokens/", access.tokens, "tokens"),
    page("tokens/issue/", access.issue_token, "issue_token"),
    page("tokens/<int:token_id>/revoke/", access.revoke_token, "revoke_token"),
    page("people/", access.people, "people"),
    page("people/add/", access.add_person, "add_person"),
    page("people/grant/", access.grant, "grant"),
    page("people/<str:username>/password/", access.set_password, "set_password"),
    page("people/<str:username>/close/", access.close_person, "close_person"),
]
