"""Addresses of pages, remembered: a matrix links to the same server hundreds of times."""

from functools import lru_cache

from django.urls import reverse


@lru_cache(maxsize=16_384)
def link(view: str, *args: str | int) -> str:
    """The address of a console page."""
    return reverse(f"console:{view}", args=args)
