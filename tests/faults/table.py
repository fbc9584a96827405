"""A fault as a row of the table: what is done, and how the rollout must end in spite of it."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.faults.ground import Ground

# Set by `make faults`: run every row, and write the page.
WHOLE_RUN = "CONCH_FAULTS"


@dataclass(frozen=True)
class Fault:
    """One row. `strike` brings the fault about and the rollout to its end, and gives the rollout's number.

    `goes_down`: the server is away for a time, and only then may a request fail. `has_clients`: somebody asks all
    the time. `is_fresh`: on a Triton of its own; `has_own_database`: on a PostgreSQL of its own. `policy` is what
    the environment is given, `servers` how many it has.
    """

    kind: str
    name: str
    strike: Callable[["Ground"], int]
    ends: str = "succeeded"
    code: str = ""
    goes_down: bool = False
    is_sample: bool = False
    has_clients: bool = True
    is_fresh: bool = False
    has_own_database: bool = False
    servers: int = 1
    policy: Mapping[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.kind}: {self.name}".replace(" ", "-")


def chosen(rows: list[Fault]) -> list[Fault]:
    """All rows of a whole run, else one of each kind."""
    return rows if os.environ.get(WHOLE_RUN) else [row for row in rows if row.is_sample]
