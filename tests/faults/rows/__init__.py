"""All rows, kind by kind."""

from tests.faults.rows import clocks, gates, messages, others, parts, releases, surroundings, tritons, workers
from tests.faults.table import Fault

ROWS: list[Fault] = [
    *workers.ROWS,
    *messages.ROWS,
    *parts.ROWS,
    *tritons.ROWS,
    *surroundings.ROWS,
    *clocks.ROWS,
    *gates.ROWS,
    *releases.ROWS,
    *others.ROWS,
]
