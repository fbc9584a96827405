"""The console's door: who is acting, and how pages, live parts, forms and refusals are answered."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.db import DataError
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseNotModified, HttpResponseRedirect
from django.shortcuts import render
from django.utils import timezone

from apps.access import services as access
from apps.common.actor import Actor
from apps.common.errors import ControlPlaneError, ValueUnstorable
from apps.console.shown.unwell import Unwell, unwell_parts
from apps.console.shown.words import mark_of
from apps.fleet import selectors as fleet

# A step is to be seen within a second of happening, answer and all.
MOVING_EVERY_S = 0.5
CALM_EVERY_S = 5


def actor(request: HttpRequest) -> Actor:
    """Who is acting; read once per request."""
    known = getattr(request, "conch_actor", None)
    if isinstance(known, Actor):
        return known
    found = access.actor_of(request.user, door="console", address=str(request.META.get("REMOTE_ADDR", "")))
    request.conch_actor = found  # type: ignore[attr-defined]
    return found


def unwell() -> Unwell:
    """What is wrong with Conch itself now; one query."""
    return unwell_parts(fleet.health(now=timezone.now()))


def door(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """A view for people who may look; what Conch refuses becomes a page that says why and what to do."""

    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            access.require(actor(request), "view")
            return view(request, *args, **kwargs)
        except ControlPlaneError as error:
            return refuse(request, error)
        except DataError:
            return refuse(request, ValueUnstorable("the database can neither hold nor look for one of the values"))

    return answer


def page(request: HttpRequest, template: str, *, section: str = "", status: int = 200, **context: Any) -> HttpResponse:
    """A whole page; `section` is the place in the navigation that is lit."""
    context |= {"section": section, "is_admin": access.may(actor(request), "issue_token")}
    return render(request, template, context, status=status)


def refuse(request: HttpRequest, error: ControlPlaneError) -> HttpResponse:
    """The error's own words, as a page or, in a dialog, as a part."""
    template = "parts/_refusal.html" if is_dialog(request) else "parts/refused.html"
    return render(request, template, {"refusal": error}, status=error.http_status)


@dataclass(frozen=True, slots=True)
class Live:
    """What a live part needs to ask again: where, with which stamp, how often; `ended` is what to announce."""

    url: str
    stamp: str
    every_s: float
    ended: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """One live part of a page: its template and all it shows, from which its stamp is made.

    `unwell` is what is wrong with Conch itself, where somebody is about to change what is live.
    """

    name: str
    template: str
    shown: object
    is_moving: bool
    ended: str = ""
    unwell: Unwell = ()

    @property
    def stamp(self) -> str:
        """Moves when anything shown does; relative times are the browser's business."""
        return hashlib.sha256(repr((self.shown, self.is_moving, self.ended, self.unwell)).encode()).hexdigest()[:16]

    def live(self, request: HttpRequest) -> Live:
        """How the browser asks for this part again."""
        query, stamp = request.GET.copy(), self.stamp
        query["part"], query["updated"] = self.name, stamp
        every_s = MOVING_EVERY_S if self.is_moving else CALM_EVERY_S
        return Live(f"{request.path}?{query.urlencode()}", stamp, every_s, self.ended)

    def filled(self) -> dict[str, object]:
        """What its template reads."""
        return {"shown": self.shown, "unwell": self.unwell}

    def made(self) -> "Part":
        """Itself: it is there already."""
        return self


@dataclass(frozen=True, slots=True)
class Later:
    """A part that is worked out only where it is shown: a page's other parts ask again without it."""

    name: str
    made: Callable[[], Part]


def live_page(request: HttpRequest, template: str, *parts: Part | Later, section: str, **context: Any) -> HttpResponse:
    """A page around its live parts, or one part alone when it asks again, or 304 when nothing in it moved."""
    chosen = next((part for part in parts if part.name == request.GET.get("part", "")), None)
    if chosen is None:
        made = [part.made() for part in parts]
        context["parts"] = {part.name: {**part.filled(), "live": part.live(request)} for part in made}
        return page(request, template, section=section, **context)
    asked = chosen.made()
    if request.GET.get("updated") == asked.stamp:
        return HttpResponseNotModified()
    answer = render(request, asked.template, context | asked.filled() | {"live": asked.live(request)})
    answer.headers["X-Conch-Fragment"] = "1"
    return answer


def live_part(request: HttpRequest, part: Part, *, every_s: float) -> HttpResponse:
    """A part that a page asks for by itself once it is there, and then now and again; 304 when nothing in it moved."""
    if request.GET.get("updated") == part.stamp:
        return HttpResponseNotModified()
    query = request.GET.copy()
    query["updated"] = part.stamp
    live = Live(f"{request.path}?{query.urlencode()}", part.stamp, every_s)
    answer = render(request, part.template, {"shown": part.shown, "live": live})
    answer.headers["X-Conch-Fragment"] = "1"
    return answer


@dataclass(frozen=True, slots=True)
class Question:
    """A form page: its title, what pressing the button will do, in numbers, and the button's own words.

    `follows` names the field whose choice the button's words end with; `preview` is where to ask what the form as it
    is filled in would do.
    """

    title: str
    button: str
    back: str
    consequences: tuple[str, ...] = ()
    is_dangerous: bool = False
    intro: str = ""
    follows: str = ""
    preview: str = ""
    preview_fields: str = "environment,version"
    unwell: Unwell = ()


def ask(
    request: HttpRequest,
    question: Question,
    form: forms.Form,
    act: Callable[[Mapping[str, Any]], str],
    *,
    section: str = "",
    template: str = "parts/form.html",
    **context: Any,
) -> HttpResponse:
    """Show the form; when it is sent, do `act` and go where it says; when refused, keep what was typed."""
    refusal: ControlPlaneError | None = None
    if request.method == "POST" and form.is_valid():
        try:
            return go(request, act(form.cleaned_data))
        except ControlPlaneError as error:
            refusal = error
            _blame_field(form, error)
            _offer_ways(form, error)
    status = refusal.http_status if refusal else 400 if form.is_bound and form.errors else 200
    context |= {"question": question, "form": form, "refusal": refusal, "action": request.get_full_path()}
    context["preview"] = _preview(question, refusal)
    if is_dialog(request):
        return render(request, "parts/_form.html", context, status=status)
    return page(request, template, section=section, status=status, **context)


def _preview(question: Question, refusal: ControlPlaneError | None) -> str:
    """Where to ask what would happen, but for the refusal that stands above it."""
    if refusal is None or not question.preview:
        return question.preview
    return f"{question.preview}{'&' if '?' in question.preview else '?'}{urlencode({'told': mark_of(refusal)})}"


def go(request: HttpRequest, where: str) -> HttpResponse:
    """Leave for another page, out of a dialog too."""
    if is_dialog(request):
        return HttpResponse(status=204, headers={"HX-Redirect": where})
    return HttpResponseRedirect(where)


def is_dialog(request: HttpRequest) -> bool:
    """Whether the answer lands in the dialog of a page that is already there."""
    return request.headers.get("HX-Request") == "true" and "part" not in request.GET


def _blame_field(form: forms.Form, error: ControlPlaneError) -> None:
    field = str(error.facts.get("field", "")).partition(".")[0]
    if field in form.fields:
        form.add_error(field, error.message)


def _offer_ways(form: forms.Form, error: ControlPlaneError) -> None:
    offer = getattr(form, "offer", None)
    if callable(offer):
        offer(error)
