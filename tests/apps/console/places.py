"""Every page there is, for a fleet of `tests.factories.fleets.small_fleet` with things broken."""

from apps.console.urls import urlpatterns

MODEL = "/models/digits/"
PAGES = (
    "/",
    "/models/",
    "/register/",
    MODEL,
    f"{MODEL}change/",
    f"{MODEL}upload/",
    f"{MODEL}fetch/",
    f"{MODEL}samples/add/",
    f"{MODEL}samples/seven/remove/",
    f"{MODEL}alias/",
    f"{MODEL}versions/2/",
    f"{MODEL}versions/3/",
    f"{MODEL}versions/2/compare/",
    f"{MODEL}versions/2/promote/",
    f"{MODEL}versions/2/try/",
    f"{MODEL}versions/2/archive/",
    f"{MODEL}in/prod/promote/",
    f"{MODEL}plan/",
    f"{MODEL}in/staging/roll-back/",
    f"{MODEL}in/prod/unload/",
    f"{MODEL}in/prod/hold/",
    f"{MODEL}in/prod/let-go/",
    f"{MODEL}in/prod/warm-up/",
    f"{MODEL}prod/overlay/",
    f"{MODEL}prod/overlay/0/restore/",
    "/servers/",
    "/servers/add/",
    "/servers/prod-1/",
    "/servers/prod-2/",
    "/servers/prod-5/",
    "/servers/prod-6/",
    "/servers/prod-1/change/",
    "/servers/prod-1/recheck/",
    "/servers/prod-1/reconcile/",
    "/servers/prod-1/cordon/",
    "/servers/prod-4/uncordon/",
    "/servers/prod-1/retire/",
    "/gpus/",
    "/environments/",
    "/environments/add/",
    "/environments/prod/change/",
    "/environments/prod/policy/",
    "/repositories/add/",
    "/retention/",
    "/rollouts/",
    "/search/",
    "/audit/",
    "/tokens/",
    "/tokens/issue/",
    "/people/",
    "/people/add/",
    "/people/grant/",
    "/password/",
)
# These need a row's number, a file, or nobody signed in; tests of their own visit them.
OTHERS = frozenset(
    {
        "pause",
        "resume",
        "approve",
        "retry",
        "skip_gate",
        "discard_upload",
        "devices",
        "promises",
        "advice",
        "rollout",
        "abort",
        "lift_ban",
        "revoke_token",
        "audit_export",
        "trial",
        "trial_body",
        "sign_in",
        "sign_out",
    }
)


def names() -> set[str]:
    """The name of every path of the console."""
    return {str(pattern.name) for pattern in urlpatterns}
