"""Release pages: several models that are switched together, and the dialogs that begin, stop and undo one."""

from collections.abc import Callable, Mapping
from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from apps.console.door import Part, Question, actor, ask, live_page, unwell
from apps.console.forms.releases import ReleaseBackForm, ReleaseForm
from apps.console.reasons import ask_why
from apps.console.shown.releases import release_detail, release_line
from apps.console.shown.words import count, listed
from apps.deployments import selectors as deployments
from apps.deployments import services
from apps.fleet import selectors as fleet

ROWS = 50


def releases(request: HttpRequest) -> HttpResponse:
    """Releases, newest first."""
    rows = Paginator(deployments.releases(), ROWS).get_page(request.GET.get("page"))
    lines = tuple(release_line(release) for release in rows)
    is_moving = any(line.chip.tone == "busy" for line in lines)
    part = Part("releases", "deployments/_releases.html", lines, is_moving=is_moving)
    return live_page(request, "deployments/release_list.html", part, section="rollouts", rows=rows)


def release(request: HttpRequest, release_id: int) -> HttpResponse:
    """One release: its rollouts, filling up live."""
    found = deployments.get_release(release_id)
    shown = release_detail(found, may_come_again=deployments.is_ban_left_open(found))
    part = Part("release", "deployments/_release.html", shown, is_moving=shown.is_moving, ended=shown.ended)
    return live_page(request, "deployments/release_detail.html", part, section="rollouts")


def begin_release(request: HttpRequest) -> HttpResponse:
    """Bring several models live together."""
    environments = [home.name for home in fleet.environments()]
    form = ReleaseForm(request.POST or None, environments=environments)
    question = Question(
        title="Release several models",
        button="Begin the release",
        back=reverse("console:releases"),
        consequences=(
            "Every version is published and tried aside on every server first; nothing is live yet.",
            "Then all are switched together, the members of an ensemble before it. Where one fails, all go back.",
        ),
        preview=reverse("console:plan_release"),
        preview_fields="environment,items",
        unwell=unwell(),
    )

    def act(given: Mapping[str, Any]) -> str:
        begun = services.begin_release(
            actor(request),
            environment=given["environment"],
            items=given["items"],
            reason=given["reason"],
            confirm=form.confirmed,
            skip=form.skipped,
        )
        return reverse("console:release", args=[begun.pk])

    return ask(request, question, form, act, section="rollouts")


def approve_release(request: HttpRequest, release_id: int) -> HttpResponse:
    """Let all of it begin."""
    return _control(request, release_id, "Approve", services.approve_release, "All that wait for an approval begin.")


def pause_release(request: HttpRequest, release_id: int) -> HttpResponse:
    """Begin nothing more in any of them."""
    words = "Servers in the middle of a change come to the end of it; no other begins, in any of the models."
    return _control(request, release_id, "Pause", services.pause_release, words)


def resume_release(request: HttpRequest, release_id: int) -> HttpResponse:
    """Go on."""
    return _control(request, release_id, "Resume", services.resume_release, "All that are paused go on.")


def _control(request: HttpRequest, release_id: int, word: str, service: Callable[..., Any], words: str) -> HttpResponse:
    shown = release_line(deployments.get_release(release_id))
    here = reverse("console:release", args=[release_id])
    what = f"In {shown.environment}: {listed(list(shown.models))}."
    question = Question(f"{word}: release {release_id}", f"{word} all", here, consequences=(what, words))

    def do(reason: str) -> None:
        service(actor(request), release=release_id, reason=reason)

    return ask_why(request, question, do, section="rollouts")


def abort_release(request: HttpRequest, release_id: int) -> HttpResponse:
    """Stop all of it."""
    shown = release_line(deployments.get_release(release_id))
    question = Question(
        title=f"Abort release {release_id}",
        button=f"Abort: {count(len(shown.models), 'model')} go back" if len(shown.models) > 1 else "Abort",
        back=reverse("console:release", args=[release_id]),
        consequences=(f"In {shown.environment}: {listed(list(shown.models))}. Nothing is held or banned.",),
        is_dangerous=True,
        unwell=unwell(),
    )

    def do(reason: str) -> None:
        services.abort_release(actor(request), release=release_id, reason=reason)

    return ask_why(request, question, do, section="rollouts")


def roll_back_release(request: HttpRequest, release_id: int) -> HttpResponse:
    """Send all of it back together."""
    shown = release_line(deployments.get_release(release_id))
    form = ReleaseBackForm(request.POST or None, initial={"ban": True})
    question = Question(
        title=f"Roll back release {release_id}",
        button=f"Roll back {count(len(shown.models), 'model')} in {shown.environment}",
        back=reverse("console:release", args=[release_id]),
        consequences=(
            f"Back together, on all servers at once: {listed(list(shown.models))}.",
            "What went live after this release is left alone. What goes back is held.",
            "What has gone back already stays as it is; it is held and, if you say so, banned.",
        ),
        is_dangerous=True,
        unwell=unwell(),
    )

    def act(given: Mapping[str, Any]) -> str:
        services.roll_back_release(
            actor(request), release=release_id, reason=given["reason"], ban=bool(given.get("ban"))
        )
        return reverse("console:release", args=[release_id])

    return ask(request, question, form, act, section="rollouts")
