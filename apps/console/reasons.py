"""What is asked with a reason alone: shown, done, and back to where it was asked."""

from collections.abc import Callable, Mapping
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse

from apps.console.door import Question, ask
from apps.console.forms.fleet import ReasonForm


def ask_why(
    request: HttpRequest, question: Question, do: Callable[[str], object], *, section: str = "models", told: str = ""
) -> HttpResponse:
    """Ask for a reason; with it, `do` what the question is about, and say `told` on the page it goes back to."""

    def act(given: Mapping[str, Any]) -> str:
        do(given["reason"])
        if told:
            messages.success(request, told)
        return question.back

    return ask(request, question, ReasonForm(request.POST or None), act, section=section)
