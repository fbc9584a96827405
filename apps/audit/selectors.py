"""Reading the audit."""

from datetime import datetime

from django.db.models import QuerySet

from apps.audit.models import Event


def events(
    *,
    actor: str = "",
    verb: str = "",
    subject: str = "",
    environment: str = "",
    model: str = "",
    since: datetime | None = None,
    until: datetime | None = None,
) -> QuerySet[Event]:
    """Events that match every given filter, newest first."""
    wanted = {"actor": actor, "verb": verb, "subject": subject, "environment": environment, "model": model}
    found = Event.objects.filter(**{name: value for name, value in wanted.items() if value})
    if since:
        found = found.filter(at__gte=since)
    if until:
        found = found.filter(at__lte=until)
    return found.order_by("-at", "-pk")
