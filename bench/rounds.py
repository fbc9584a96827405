"""How long a worker's rounds took, by its own log; and what a process has used of the CPU."""

import os
import re
from datetime import datetime
from pathlib import Path

_LINE = re.compile(
    r"^(?P<at>[\d-]+ [\d:]+,\d+) .*Task (?P<task>conch\.\w+)\[[^]]+\] (?P<what>received|succeeded)", re.M
)

SHARD_IS_DONE = ("conch.observe_servers", "succeeded")


def rounds_s(text: str) -> list[float]:
    """Seconds from each `observe_fleet` that came in to the end of the last shard it asked for.

    The first round and the one that was under way at the end are left out.
    """
    found: list[tuple[datetime, datetime | None]] = []
    for line in _LINE.finditer(text):
        at = datetime.strptime(line["at"], "%Y-%m-%d %H:%M:%S,%f")  # noqa: DTZ007 - only differences count
        if (line["task"], line["what"]) == ("conch.observe_fleet", "received"):
            found.append((at, None))
        elif (line["task"], line["what"]) == SHARD_IS_DONE and found:
            found[-1] = (found[-1][0], at)
    return [(end - begin).total_seconds() for begin, end in found[1:-1] if end is not None]


def shards(text: str) -> int:
    """How many shards of servers were looked at."""
    return sum((line["task"], line["what"]) == SHARD_IS_DONE for line in _LINE.finditer(text))


def cpu_s(pid: int) -> float:
    """CPU seconds, user and system, of a process and the children it has waited for."""
    spent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15]
    return sum(map(int, spent)) / os.sysconf("SC_CLK_TCK")
