"""When something long will be through, as far as is known."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Estimate:
    """When it ends, in all likelihood; where that is not known, `why` says why. Neither for what has ended."""

    ends_at: datetime | None = None
    why: str = ""

    def left_s(self, now: datetime) -> float | None:
        """Seconds until then; never less than none."""
        return None if self.ends_at is None else round(max(0.0, (self.ends_at - now).total_seconds()), 1)
