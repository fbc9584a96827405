"""Promote, unload, abort, keep warm: what each will do, in numbers, and why."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from apps.console.door import Question, actor, ask, unwell
from apps.console.forms.deployments import PromoteForm, UnloadForm, WarmupForm
from apps.console.reasons import ask_why
from apps.console.shown.rollouts import number_of
from apps.console.shown.spread import number_in
from apps.console.shown.words import count, listed
from apps.deployments import selectors as deployments
from apps.deployments import services
from apps.fleet import selectors as fleet
from apps.registry import selectors as registry

if TYPE_CHECKING:
    from apps.deployments.models import Placement
    from apps.deployments.policy import Policy

VERSIONS = 100


def promote(request: HttpRequest, name: str, environment: str = "", number: int | None = None) -> HttpResponse:
    """Bring a version live in an environment."""
    model = registry.get_model(name)
    homes = [home for home in deployments.with_policies(fleet.environments()) if environment in ("", home.name)]
    if number is None:
        versions = list(registry.versions(name).filter(state="ready").values_list("number", flat=True)[:VERSIONS])
    else:
        versions = [registry.get_version(name, number).number]
    form = PromoteForm(
        request.POST or None,
        environments=[home.name for home in homes],
        versions=versions,
        initial={"version": request.GET.get("version") or (versions[0] if versions else None)},
    )
    places = {placement.environment.name: placement for placement in deployments.placements(model=model.name)}
    question = Question(
        title=f"Promote {name}" + (f" {number}" if number else "") + (f" in {environment}" if environment else ""),
        button=_promote_words(environment) if environment and number is None else "Promote",
        back=reverse("console:model", args=[name]),
        consequences=tuple(
            words
            for home in homes
            for words in _promotion(home.name, deployments.policy_in(home), places.get(home.name))
        ),
        follows="version" if environment and number is None else "",
        preview=_plan_url(name, environment, number),
        unwell=unwell(),
    )

    def act(given: Mapping[str, Any]) -> str:
        rollout = services.promote(
            actor(request),
            environment=given["environment"],
            model=name,
            version=given["version"],
            reason=given["reason"],
            confirm=form.confirmed,
            skip=form.skipped,
        )
        return reverse("console:rollout", args=[rollout.pk])

    return ask(request, question, form, act, section="models")


def _plan_url(name: str, environment: str, number: int | None) -> str:
    known = {"environment": environment, "version": number}
    chosen = urlencode({key: value for key, value in known.items() if value})
    return reverse("console:plan", args=[name]) + (f"?{chosen}" if chosen else "")


def _promote_words(environment: str) -> str:
    return f"Promote on {count(len(_servers(environment)), f'{environment} server')} to"


def _promotion(environment: str, policy: "Policy", placement: "Placement | None") -> Iterable[str]:
    servers = _servers(environment)
    old = number_of(placement.active) if placement else "–"
    if not servers:
        yield f"{environment}: has no server that takes rollouts."
        return
    now = "nothing is live there now" if old == "–" else f"now on {old}"
    yield f"{environment}: {count(len(servers), 'server')} ({listed(servers)}), {now}."
    if policy.shadow.when == "never":
        yield f"{environment}: nothing is tried aside there, its policy says: clients are the first to meet it."


def _servers(environment: str) -> list[str]:
    found = fleet.servers(environment=environment, state="active").filter(cordoned_at=None)
    return list(found.values_list("name", flat=True))


def unload(request: HttpRequest, name: str, environment: str) -> HttpResponse:
    """Take a model off an environment."""
    placement = deployments.get_placement(environment, name)
    servers = _servers(environment)
    where = f"{count(len(servers), f'{environment} server')}"
    loaded = listed([number_of(one) for one in (placement.active, placement.standby) if one is not None])
    form = UnloadForm(request.POST or None)
    question = Question(
        title=f"Unload {name} in {environment}",
        button=f"Unload {name} from {where}",
        back=reverse("console:model", args=[name]),
        consequences=(
            f"{where} ({listed(servers)}) drop version {loaded}.",
            f"Every request for {name} in {environment} fails from then on.",
            *_members_stay(placement),
        ),
        is_dangerous=True,
        unwell=unwell(),
    )

    def act(given: Mapping[str, Any]) -> str:
        rollout = services.unload(
            actor(request), environment=environment, model=name, reason=given["reason"], confirm=form.confirmed
        )
        return reverse("console:rollout", args=[rollout.pk])

    return ask(request, question, form, act, section="models")


def _members_stay(placement: "Placement") -> Iterable[str]:
    """Of an ensemble: what it is made of is not unloaded with it."""
    members = deployments.members_left(placement)
    if members:
        yield f"{listed(members)} stay loaded and serve on: unload each by itself where nobody else needs it."


def abort(request: HttpRequest, rollout_id: int) -> HttpResponse:
    """Stop a rollout and put back the servers it has changed."""
    rollout = deployments.get_rollout(rollout_id)
    servers = number_in(deployments.run_counts(rollout), direction="forward")
    changed = deployments.changed_servers(rollout)
    old = number_of(rollout.from_version)
    back = (
        f"{count(len(changed), 'server')} goes back to {old}"
        if len(changed) == 1
        else f"{len(changed)} servers go back to {old}"
    )
    question = Question(
        title=f"Abort rollout {rollout_id}",
        button=f"Abort: {back}",
        back=reverse("console:rollout", args=[rollout_id]),
        consequences=(
            f"{len(changed)} of {count(servers, 'server')} changed so far"
            + (f": {listed(changed)}." if changed else "."),
            f"The others stay on {old}.",
        ),
        is_dangerous=True,
    )

    def do(reason: str) -> None:
        services.abort(actor(request), rollout=rollout_id, reason=reason)

    return ask_why(request, question, do, section="rollouts")


def warm_up(request: HttpRequest, name: str, environment: str) -> HttpResponse:
    """Keep a seldom-used model warm by asking it every few minutes."""
    placement = deployments.placements(environment=environment, model=name).select_related("warmup_schedule").first()
    schedule = getattr(placement, "warmup_schedule", None)
    initial = {"minutes": schedule.every_s / 60, "is_enabled": schedule.is_enabled} if schedule else {}
    form = WarmupForm(request.POST or None, initial=initial)
    servers = _servers(environment)
    question = Question(
        title=f"Keep {name} warm in {environment}",
        button="Save schedule",
        back=reverse("console:model", args=[name]),
        consequences=(
            f"Each time {count(len(servers), 'server')} ({listed(servers)}) answer up to five of the model's samples "
            "that the live version takes, or zeros where there are none; the standby too, where it is loaded.",
        ),
    )

    def act(given: Mapping[str, Any]) -> str:
        services.schedule_warmup(
            actor(request),
            environment=environment,
            model=name,
            every_s=round(given["minutes"] * 60),
            is_enabled=given["is_enabled"],
        )
        messages.success(request, f"The warm-up schedule of {name} in {environment} is saved.")
        return reverse("console:model", args=[name])

    return ask(request, question, form, act, section="models")


def archive(request: HttpRequest, name: str, number: int) -> HttpResponse:
    """Put a version away: it can no longer be promoted."""
    registry.get_version(name, number)
    question = Question(
        title=f"Archive {name} {number}",
        button=f"Archive version {number}",
        back=reverse("console:version", args=[name, number]),
        consequences=("It can no longer be promoted. Its bytes and its history stay.",),
        is_dangerous=True,
    )

    def do(reason: str) -> None:
        services.archive_version(actor(request), model=name, version=number, reason=reason)

    return ask_why(request, question, do)
