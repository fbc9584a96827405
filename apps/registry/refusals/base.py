"""What all refusals of an upload have in common."""

from typing import Any, ClassVar

from apps.common.errors import Invalid
from apps.common.text import printable

SHOWN_ENTRY_CHARS = 160


class Refused(Invalid):
    """An upload that cannot become a version."""

    code = "upload_refused"
    http_status = 422
    title = "The upload was refused"


class RefusedEntry(Refused):
    """One entry of the archive is at fault."""

    says: ClassVar[str] = "this entry is not allowed"

    def __init__(self, entry: str, says: str = "", **facts: Any) -> None:
        shown = printable(entry[:SHOWN_ENTRY_CHARS]) + ("..." if len(entry) > SHOWN_ENTRY_CHARS else "")
        super().__init__(f"{shown!r}: {says or self.says}", entry=shown, **facts)
