"""Conch's own parts: what each last found about itself."""

from datetime import datetime

from django.db import transaction

from apps.audit.services import record
from apps.common.actor import CLOCK
from apps.common.text import SHOWN_CHARS, printable
from apps.fleet.models import Part


@transaction.atomic
def record_part(name: str, *, is_well: bool, message: str, now: datetime) -> Part:
    """Keep how a part is; a change from well to unwell, or back, is an event."""
    said = printable(message, limit=SHOWN_CHARS)
    part, is_new = Part.objects.select_for_update().get_or_create(
        name=name, defaults={"is_well": is_well, "message": said, "at": now, "since": now}
    )
    if is_new:
        return part
    has_changed = part.is_well != is_well
    part.is_well, part.message, part.at = is_well, said, now
    if has_changed:
        part.since = now
        verb = "part_well" if is_well else "part_unwell"
        record(CLOCK, verb, subject_kind="part", subject=name, reason=said)
    part.save(update_fields=["is_well", "message", "at", "since"])
    return part
