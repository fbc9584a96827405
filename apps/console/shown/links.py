"""Addresses of pages, remembered: a matrix links to the same server hundreds of times."""

from functools import lru_cache
from urllib.parse import urlencode

from django.urls import reverse

from apps.common.text import whole_number

# Kinds of subjects that stand in a list, without a page of their own.
PLACES = {
    "environment": "environments",
    "repository": "environments",
    "part": "fleet",
}


# Long lists in which it is searched for.
SEARCHED = {"token": "tokens", "user": "people"}


@lru_cache(maxsize=16_384)
def link(view: str, *args: str | int) -> str:
    """The address of a console page."""
    return reverse(f"console:{view}", args=args)


def subject_address(kind: str, subject: str, model: str) -> str:
    """Where what an event is about has its page; empty where it has none, or where its name tells too little."""
    if kind in ("server", "model"):
        return link(kind, subject)
    release = whole_number(subject) if kind == "release" else None
    if release is not None:
        return link("release", release)
    if kind in PLACES:
        return link(PLACES[kind])
    if kind in SEARCHED:
        return f"{link(SEARCHED[kind])}?{urlencode({'search': subject})}"
    number = whole_number(subject.rpartition(" ")[2])
    if kind == "version" and model and number is not None:
        return link("version", model, number)
    return link("model", model) if model else ""
