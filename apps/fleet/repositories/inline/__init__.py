"""No shared storage at all: every load call brings its versions' files along."""

from apps.fleet.repositories.inline.home import Inline

__all__ = ["Inline"]
