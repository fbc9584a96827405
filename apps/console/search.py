"""Finding things by name, number, address, digest or commit, from any page."""

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render

from apps.common.text import whole_number
from apps.console.door import page
from apps.console.shown.found import Group, exactly, groups
from apps.deployments import selectors as deployments
from apps.fleet import selectors as fleet
from apps.registry import selectors as registry

MOST = 8
LONGEST = 200


def search(request: HttpRequest) -> HttpResponse:
    """What matches, by kind; straight there when one thing is called exactly that."""
    text = request.GET.get("q", "").strip()[:LONGEST]
    found = _found(text) if text else ()
    if request.GET.get("part") == "found":
        answer = render(request, "search/_found.html", {"groups": found, "text": text})
        answer.headers["X-Conch-Fragment"] = "1"
        return answer
    target = exactly(found, text)
    if target:
        return HttpResponseRedirect(target)
    return page(request, "search/found.html", groups=found, text=text, section="")


def _found(text: str) -> tuple[Group, ...]:
    number = whole_number(text)
    return groups(
        models=registry.models(search=text)[:MOST],
        versions=registry.find_versions(text)[:MOST],
        servers=fleet.find_servers(text)[:MOST],
        environments=fleet.environments().filter(name__icontains=text)[:MOST],
        rollouts=() if number is None else deployments.rollouts().filter(pk=number)[:1],
    )
