"""Servers that differ from what is desired, as rows."""

from collections.abc import Mapping
from datetime import timedelta

from django.utils import timezone

from apps.deployments import healing
from apps.deployments.models import Drift
from apps.fleet.models import Server

REASON = "load failed for model 'resnet50': version 11 <script>alert(1)</script>\n" + "  at model.py\n" * 50


def add_drift(servers: Mapping[str, Server]) -> None:
    """One difference that is tried again, one that only a restart ends, one that is only told, a silent server."""
    now = timezone.now()
    prod_2 = {"server": servers["prod-2"], "since": now - timedelta(minutes=7)}
    tried = {"why_not": "it was tried 3 times of late", "next_try_at": now + timedelta(seconds=40)}
    Drift.objects.create(model="resnet50", version=11, kind="failed", reason=REASON, **tried, **prod_2)
    Drift.objects.create(model="digits.shadow", version=3, kind="stuck", why_not=healing.RESTART, **prod_2)
    Drift.objects.create(model="digits", version=2, kind="extra", why_not=healing.ONLY_TOLD, **prod_2)
    Drift.objects.create(
        server=servers["prod-3"], kind="unreachable", since=now, why_not=healing.NO_ANSWER, reason="refused"
    )
