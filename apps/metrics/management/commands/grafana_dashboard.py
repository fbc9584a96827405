"""`manage.py grafana_dashboard > compose/grafana/conch.json`."""

import json
from typing import Any

from django.core.management.base import BaseCommand

from apps.metrics.dashboard import dashboard


class Command(BaseCommand):
    """Print the Grafana dashboard that has every chart."""

    help = "Prints the Grafana dashboard with every chart, as JSON."

    def handle(self, *_: Any, **__: Any) -> None:
        """As Grafana imports it."""
        self.stdout.write(json.dumps(dashboard(), indent=2))
