"""Reading the audit."""

import json
from datetime import datetime

from django.db.models import Q, QuerySet, TextField
from django.db.models.functions import Cast

from apps.audit.models import Event


def events(
    *,
    actor: str = "",
    verb: str = "",
    subject: str = "",
    environment: str = "",
    model: str = "",
    text: str = "",
    since: datetime | None = None,
    until: datetime | None = None,
) -> QuerySet[Event]:
    """Events that match every given filter, newest first; `text` may stand in why, or in what was told with it."""
    wanted = {"actor": actor, "verb": verb, "subject": subject, "environment": environment, "model": model}
    found = Event.objects.filter(**{name: value for name, value in wanted.items() if value})
    if text:
        told, kept = found.annotate(told=Cast("detail", TextField())), json.dumps(text, ensure_ascii=False)[1:-1]
        found = told.filter(Q(reason__icontains=text) | Q(told__icontains=kept))
    if since:
        found = found.filter(at__gte=since)
    if until:
        found = found.filter(at__lte=until)
    return found.order_by("-at", "-pk")
