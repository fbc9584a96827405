"""Prints docs/charts.md."""

from typing import Any

from django.core.management.base import BaseCommand

from apps.metrics.document import charts_document


class Command(BaseCommand):
    """`manage.py list_charts > docs/charts.md`"""

    help = "Print the list of charts as Markdown."

    def handle(self, *_args: Any, **_options: Any) -> None:
        """Print it."""
        self.stdout.write(charts_document(), ending="")
