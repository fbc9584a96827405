"""Where servers take their models from, by kind. No database: places and bytes only.

A kind is a folder here that offers `Home`: how a version gets there, what a shadow is made of, what is left for a
server that restarts alone, and how to tell what is loaded.
"""

from collections.abc import Mapping

from apps.common.text import printable
from apps.fleet.errors import RepositoryKindUnknown
from apps.fleet.repositories.inline import Inline
from apps.fleet.repositories.posix import Directory
from apps.fleet.repositories.protocol import Delivered, Delivery, Home, Kept, ReadsHere
from apps.fleet.repositories.s3 import Bucket

KINDS: Mapping[str, type[Home]] = {"posix": Directory, "s3": Bucket, "inline": Inline}

__all__ = ["KINDS", "Delivered", "Delivery", "Home", "Kept", "ReadsHere", "kind_of", "open_home"]


def kind_of(name: str) -> type[Home]:
    """The kind of that name, or RepositoryKindUnknown."""
    if name not in KINDS:
        raise RepositoryKindUnknown(
            f"repository kind {printable(name, limit=40)!r} is not one of {', '.join(KINDS)}", field="kind"
        )
    return KINDS[name]


def open_home(kept: Kept) -> Home:
    """The repository as its row tells it; opening touches nothing."""
    return kind_of(kept.kind)(kept.path, kept.settings)
