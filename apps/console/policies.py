"""The policy of an environment: what is in force, and changing it."""

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from apps.console.door import Question, actor, ask
from apps.console.forms.policies import PolicyForm
from apps.deployments import selectors as deployments
from apps.deployments import services
from apps.fleet import selectors as fleet


def change_policy(request: HttpRequest, name: str) -> HttpResponse:
    """Put another policy in force."""
    row = deployments.policy_row(fleet.get_environment(name))
    form = PolicyForm(request.POST or None, initial={**PolicyForm.of(row.document), "based_on": row.number})
    question = Question(
        f"Policy of {name}",
        "Put in force",
        reverse("console:environments"),
        intro=f"Number {row.number} is in force, by {row.actor}.",
        consequences=("Promotions that begin from now on keep to it; those that are moving keep their own.",),
    )

    def act(given: Mapping[str, Any]) -> str:
        changed = services.change_policy(
            actor(request),
            environment=name,
            document=form.onto(row.document),
            based_on=given["based_on"],
            reason=given["reason"],
        )
        messages.success(request, f"Policy {changed.number} of {name} is in force.")
        return reverse("console:environments")

    return ask(request, question, form, act, section="environments", parent="Environments")
