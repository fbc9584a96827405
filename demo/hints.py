"""What to try next in a demo: after a restart, only what its history still lets go live."""

from collections.abc import Collection, Iterator

from demo.rest import Conch
from demo.seed import MODEL

ENVIRONMENT = "prod"
# Right and quick, so good to go live and come back; 6 is 2 with a warm-up that preflight asks about. Then those that
# something stops, and by what.
GOOD = (2, 6)
STOPPED = {
    3: "its golden answers are wrong, so nobody ever gets one.",
    4: "right, but slow; its p99 gate puts the old one back.",
}


def hints(conch: Conch) -> str:
    """The hints as they are printed; empty where nothing is left to try."""
    live = conch.get(f"placements/{ENVIRONMENT}/{MODEL}")["active"]
    bans = conch.get(f"bans?environment={ENVIRONMENT}&model={MODEL}&active=true")["results"]
    lines = list(things(live=live, banned={ban["version"] for ban in bans}))
    if not lines:
        return ""
    numbered = (f"    {number}. {line}" for number, line in enumerate(lines, start=1))
    return "\n".join(["", "  To try, each while the charts move:", *numbered, ""])


def things(*, live: int | None, banned: Collection[int]) -> Iterator[str]:
    """What to try while `live` serves and `banned` may not."""
    good = next((number for number in GOOD if number not in banned and number != live), None)
    if live in GOOD:
        yield f"Roll '{MODEL}' in {ENVIRONMENT} back: version {live} is live there."
    elif good is not None:
        yield f"Promote version {good} of '{MODEL}' to {ENVIRONMENT}; then roll it back."
    for number, end in STOPPED.items():
        if number not in banned and number != live:
            yield f"Promote version {number} of '{MODEL}' to {ENVIRONMENT}: {end}"
