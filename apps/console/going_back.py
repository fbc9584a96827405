"""Going back: the rollback dialog, holds, and bans."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from apps.console.door import Question, actor, ask, unwell
from apps.console.forms.deployments import RollBackForm
from apps.console.reasons import ask_why
from apps.console.shown.models import speed_of
from apps.console.shown.rollouts import number_of
from apps.console.shown.words import count, listed
from apps.deployments import selectors as deployments
from apps.deployments import services

if TYPE_CHECKING:
    from apps.deployments.models import Placement, Rollout
    from apps.deployments.selectors import Target
    from apps.fleet.models import Server


def roll_back(request: HttpRequest, name: str, environment: str) -> HttpResponse:
    """Put an earlier version back, on all servers at once."""
    placement = deployments.get_placement(environment, name)
    moving = deployments.active_rollout(placement)
    targets = deployments.rollback_targets(placement)
    servers, left_out = deployments.rollback_reach(placement)
    bad = _bad(placement, moving)
    choices = [*_turning(placement, moving), *((one.version.number, _choice(one)) for one in targets)]
    form = RollBackForm(
        request.POST or None,
        targets=choices,
        bans=f"Ban version {bad} in {environment} until somebody lifts it" if bad else "",
        initial={"to": request.GET.get("to", ""), "ban": True},
    )
    question = Question(
        title=f"Roll back {name} in {environment}",
        button=f"Roll back {count(len(servers), f'{environment} server')} from {bad or '–'} to",
        back=reverse("console:model", args=[name]),
        consequences=tuple(_consequences(placement, moving, servers, left_out, targets)),
        is_dangerous=True,
        intro="" if choices else "No earlier version was ever live here: promote one instead.",
        follows="to",
        unwell=unwell(),
    )

    def act(given: Mapping[str, Any]) -> str:
        rollout = services.roll_back(
            actor(request),
            environment=environment,
            model=name,
            to=given["to"],
            reason=given["reason"],
            confirm=form.confirmed,
            ban=bool(given.get("ban")),
        )
        return reverse("console:rollout", args=[rollout.pk])

    return ask(request, question, form, act, section="models")


def _choice(target: "Target") -> str:
    return f"{target.version.number} ({speed_of(target)})"


def _turning(placement: "Placement", moving: "Rollout | None") -> Iterable[tuple[int, str]]:
    """What is moving only has to turn round: back to what was live before it."""
    if moving is not None and moving.kind in ("promote", "unload") and placement.active is not None:
        yield placement.active.number, f"{placement.active.number} (puts back what has changed so far)"


def _bad(placement: "Placement", moving: "Rollout | None") -> str:
    version = (moving.to_version if moving else None) or (None if moving else placement.active)
    return number_of(version) if version is not None else ""


def _consequences(
    placement: "Placement",
    moving: "Rollout | None",
    servers: "list[Server]",
    left_out: "list[Server]",
    targets: "list[Target]",
) -> Iterable[str]:
    everyone = "All " if len(servers) > 1 else ""
    yield f"{everyone}{count(len(servers), 'server')} at once: {listed([one.name for one in servers])}."
    cordoned = [one.name for one in left_out if one.cordoned_at]
    down = [one.name for one in left_out if not one.cordoned_at]
    if down:
        yield f"Left out, because they do not answer: {listed(down)}. They are brought right when they are back."
    if cordoned:
        yield f"Cordoned, and not serving what is rolled back: {listed(cordoned)}."
    if moving is not None:
        yield f"Stops rollout {moving.pk}, a {moving.kind} by {moving.actor} that is {moving.state}."
    yield f"Holds {placement.model} in {placement.environment}: promotions ask first, nothing heals by itself."
    pinning = deployments.ensembles_on(placement)
    for target in targets[:3]:
        yield f"{target.version.number}: {speed_of(target)}, {target.why}."
        stopped = [one.model for one in pinning if one.pins(placement.model.name) not in (None, target.version.number)]
        if stopped:
            yield f"{target.version.number} stops {listed(stopped)}: made of another version of {placement.model} only."


def hold(request: HttpRequest, name: str, environment: str) -> HttpResponse:
    """Keep everything but rollbacks from moving what is live."""
    placement = deployments.get_placement(environment, name)
    question = Question(
        title=f"Hold {name} in {environment}",
        button=f"Hold version {number_of(placement.active)}",
        back=reverse("console:model", args=[name]),
        consequences=(
            "Promotions and unloads are refused until they say that they let go of the hold.",
            "Nothing heals here by itself. Rollbacks go on as ever.",
        ),
    )

    def do(reason: str) -> None:
        services.hold(actor(request), environment=environment, model=name, reason=reason)

    return ask_why(request, question, do, told=f"{name} in {environment} is held.")


def unhold(request: HttpRequest, name: str, environment: str) -> HttpResponse:
    """Let go of a hold."""
    placement = deployments.get_placement(environment, name)
    held = f"Held by {placement.held_by}: {placement.hold_reason}" if placement.held_at else "It is not held now."
    question = Question(
        title=f"Let go of {name} in {environment}",
        button="Let go",
        back=reverse("console:model", args=[name]),
        consequences=(held, "Promotions and healing go on as before."),
    )

    def do(reason: str) -> None:
        services.unhold(actor(request), environment=environment, model=name, reason=reason)

    return ask_why(request, question, do, told=f"{name} in {environment} is not held any more.")


def lift_ban(request: HttpRequest, ban_id: int) -> HttpResponse:
    """Let a version go live again where it was rolled back."""
    ban = deployments.get_ban(ban_id)
    model, environment = ban.placement.model.name, ban.placement.environment.name
    question = Question(
        title=f"Lift the ban of {model} {ban.version.number} in {environment}",
        button=f"Lift the ban of version {ban.version.number}",
        back=reverse("console:model", args=[model]),
        consequences=(
            f"Banned by {ban.actor}: {ban.reason}",
            f"Its bytes and configuration may be promoted to {environment} again.",
        ),
        is_dangerous=True,
    )

    def do(reason: str) -> None:
        services.lift_ban(actor(request), ban=ban_id, reason=reason)

    return ask_why(request, question, do, told=f"Version {ban.version.number} may go to {environment} again.")
