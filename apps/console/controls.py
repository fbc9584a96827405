"""Pause, resume, approve, retry, skip: what each will do, and why."""

from collections.abc import Callable, Mapping
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from apps.console.door import Question, actor, ask
from apps.console.forms.controls import GateForm, ServerRetryForm
from apps.console.forms.fleet import ReasonForm
from apps.console.shown.rollouts import number_of
from apps.console.shown.spread import number_in
from apps.console.shown.words import count
from apps.deployments import selectors as deployments
from apps.deployments import services

Service = Callable[..., Any]


def pause(request: HttpRequest, rollout_id: int) -> HttpResponse:
    """Begin nothing more."""
    running = number_in(deployments.run_counts(deployments.get_rollout(rollout_id)), "running")
    consequences = (
        f"{count(running, 'server')} in the middle of a change come to the end of it; no other begins.",
        "Gates are judged on: one that fails puts the old version back, paused or not.",
    )
    return _ask(request, rollout_id, "Pause", services.pause, consequences)


def resume(request: HttpRequest, rollout_id: int) -> HttpResponse:
    """Go on."""
    waiting = number_in(deployments.run_counts(deployments.get_rollout(rollout_id)), "queued")
    consequences = (f"{count(waiting, 'server')} still to come. A wave that was baking bakes once more.",)
    return _ask(request, rollout_id, "Resume", services.resume, consequences)


def approve(request: HttpRequest, rollout_id: int) -> HttpResponse:
    """Let it begin."""
    rollout = deployments.get_rollout(rollout_id)
    change = f"{number_of(rollout.from_version)} → {number_of(rollout.to_version)}"
    where = f"{count(rollout.runs.count(), 'server')} in {rollout.placement.environment.name}"
    consequences = (f"{rollout.placement.model.name} {change} begins on {where}, asked for by {rollout.actor}.",)
    return _ask(request, rollout_id, "Approve", services.approve, consequences)


def retry(request: HttpRequest, rollout_id: int) -> HttpResponse:
    """Try a failed server again."""
    failed = deployments.failed_servers(deployments.get_rollout(rollout_id))
    form = ServerRetryForm(request.POST or None, servers=failed)
    consequences = ("It goes on from the step that failed; what succeeded before is not done again.",)
    return _ask(request, rollout_id, "Retry", services.retry_run, consequences, form=form)


def skip_gate(request: HttpRequest, rollout_id: int) -> HttpResponse:
    """Pass one gate unjudged."""
    rollout = deployments.get_rollout(rollout_id)
    names = [gate.name for gate in deployments.rollout_policy(rollout).gates if gate.name not in rollout.skipped_gates]
    form = GateForm(request.POST or None, gates=names)
    consequences = ("This rollout no longer asks the gate. A paused one has to be resumed as well.",)
    return _ask(request, rollout_id, "Skip gate", services.skip_gate, consequences, form=form)


def _ask(
    request: HttpRequest,
    rollout_id: int,
    word: str,
    service: Service,
    consequences: tuple[str, ...],
    *,
    form: forms.Form | None = None,
) -> HttpResponse:
    here = reverse("console:rollout", args=[rollout_id])
    question = Question(f"{word}: rollout {rollout_id}", word, here, consequences=consequences)

    def act(given: Mapping[str, Any]) -> str:
        service(actor(request), rollout=rollout_id, **given)
        return here

    return ask(request, question, form or ReasonForm(request.POST or None), act, section="rollouts")
