"""Prints docs/preflight.md."""

from typing import Any

from django.core.management.base import BaseCommand

from apps.registry.document import preflight_document


class Command(BaseCommand):
    """`manage.py list_rules > docs/preflight.md`"""

    help = "Print the rules of preflight as Markdown."

    def handle(self, *_args: Any, **_options: Any) -> None:
        """Print it."""
        self.stdout.write(preflight_document(), ending="")
