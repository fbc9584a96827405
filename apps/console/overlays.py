"""The overlay of a model in one environment: what is in effect, trying another, rolling it out, putting one back."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from apps.common.errors import ControlPlaneError
from apps.console.door import Question, actor, ask, page, unwell
from apps.console.forms.deployments import OverlayForm, RestoreOverlayForm
from apps.console.shown.overlays import OverlayLine, diff_lines, overlay_lines
from apps.console.shown.words import count, listed
from apps.deployments import selectors as deployments
from apps.deployments import services
from apps.fleet import selectors as fleet
from apps.registry import selectors as registry
from apps.serving import backends

if TYPE_CHECKING:
    from apps.deployments.models import Placement
    from apps.deployments.selectors import Effect
    from apps.deployments.services.overlays import Setting

HISTORY = 50
CONFIG = backends.get("triton").CONFIG


def overlay(request: HttpRequest, name: str, environment: str) -> HttpResponse:
    """The form with what comes of it: first shown, then, when it is asked for, rolled out."""
    model, home = registry.get_model(name), fleet.get_environment(environment)
    placement = deployments.placements(environment=environment, model=name).defer(None).first()
    form = OverlayForm(request.POST or None, initial={"changes": "\n".join(_typed(request, placement))})
    refusal: ControlPlaneError | None = None
    effect: Effect | None = None
    try:
        document = _document(form, placement)
        if "roll_out" in request.POST and form.is_valid():
            return _gone(request, name, environment, _roll_out(request, form, name, environment, document))
        effect = deployments.effect(placement, document) if placement else None
    except ControlPlaneError as error:
        refusal = error
        form.offer(error)
    return page(
        request,
        "deployments/overlay_form.html",
        section="models",
        status=refusal.http_status if refusal else 400 if form.is_bound and form.errors else 200,
        model=model,
        environment=home.name,
        placement=placement,
        form=form,
        refusal=refusal,
        action=request.get_full_path(),
        button=f"Roll out on {count(len(_servers(environment)), f'{environment} server')}",
        effect=effect,
        changes=diff_lines(effect.changes if effect else ()),
        overlaid=diff_lines(effect.overlaid if effect else ()),
        history=_history(placement),
    )


def restore_overlay(request: HttpRequest, name: str, environment: str, number: int) -> HttpResponse:
    """Go back to an earlier overlay in one step."""
    placement = deployments.get_placement(environment, name)
    document = deployments.document_of(placement, number)
    reached, left_out = deployments.rollback_reach(placement)
    servers, down = [server.name for server in reached], [server.name for server in left_out]
    effect = deployments.effect(placement, document)
    words = f"overlay {number}" if number else "the version as it was uploaded"
    form = RestoreOverlayForm(request.POST or None)
    question = Question(
        title=f"{name} in {environment}: back to {words}",
        button=f"Put it back on {count(len(servers), f'{environment} server')}",
        back=reverse("console:overlay", args=[name, environment]),
        consequences=(
            f"{count(len(servers), 'server')} at once, unapproved, and in a freeze too: {listed(servers)}.",
            *((_left_out(down),) if down else ()),
            *CONFIG.overlay_lines(document),
            cost_of(effect),
        ),
        is_dangerous=True,
        unwell=unwell(),
    )

    def act(given: Mapping[str, Any]) -> str:
        setting = services.restore_overlay(
            actor(request),
            environment=environment,
            model=name,
            number=number,
            reason=given["reason"],
            skip=form.skipped,
            confirm=form.confirmed,
        )
        return _where(name, environment, setting)

    return ask(request, question, form, act, section="models")


def cost_of(effect: "Effect | None") -> str:
    """What going there costs the servers, in words."""
    if effect is None:
        return "Nothing is live here: it counts from the next promotion on."
    if not effect.restarts:
        return "Only instances change: nothing that is loaded starts again."
    return (
        "New instances come up beside the old ones, which serve until then; memory is held twice meanwhile. "
        "The configuration is tried aside first, unless it is put back and has passed before."
    )


def _left_out(servers: list[str]) -> str:
    return (
        f"Left out: {listed(servers)}. They are brought to it by themselves once they answer, "
        "unless a hold, a cordon or the policy (self_heal) says no."
    )


def _typed(request: HttpRequest, placement: "Placement | None") -> list[str]:
    """What is in effect, and what a link proposes on top of it (`?set=path=value`, as often as wanted)."""
    lines = CONFIG.overlay_lines(placement.overlay.document) if placement and placement.overlay else []
    proposed = [line[:500] for line in request.GET.getlist("set")[:20]]
    paths = {line.partition("=")[0].strip() for line in proposed}
    return [line for line in lines if line.partition("=")[0].strip() not in paths] + proposed


def _document(form: OverlayForm, placement: "Placement | None") -> dict[str, Any]:
    form.is_valid()
    typed = form.cleaned_data.get("changes", "") if form.is_bound else form.initial["changes"]
    config = placement.active.config if placement and placement.active else {}
    return CONFIG.clean_overlay(CONFIG.overlay_of(typed.splitlines(), config=config))


def _roll_out(
    request: HttpRequest, form: OverlayForm, name: str, environment: str, document: Mapping[str, Any]
) -> "Setting":
    return services.set_overlay(
        actor(request),
        environment=environment,
        model=name,
        document=document,
        reason=form.cleaned_data["reason"],
        skip=form.skipped,
        confirm=form.confirmed,
    )


def _gone(request: HttpRequest, name: str, environment: str, setting: "Setting") -> HttpResponse:
    if setting.rollout is None:
        messages.success(request, f"Overlay {setting.overlay.number} is kept for the next promotion to {environment}.")
    return HttpResponse(status=302, headers={"Location": _where(name, environment, setting)})


def _where(name: str, environment: str, setting: "Setting") -> str:
    if setting.rollout is None:
        return reverse("console:overlay", args=[name, environment])
    return reverse("console:rollout", args=[setting.rollout.pk])


def _history(placement: "Placement | None") -> tuple[OverlayLine, ...]:
    if placement is None:
        return ()
    return overlay_lines(placement, list(deployments.overlay_history(placement)[:HISTORY]), write=CONFIG.overlay_lines)


def _servers(environment: str) -> list[str]:
    return [server.name for server in fleet.servers_for_rollouts(environment)]
