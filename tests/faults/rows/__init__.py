"""All rows, kind by kind."""

from tests.faults.rows import messages, parts, surroundings, tritons, workers
from tests.faults.table import Fault

ROWS: list[Fault] = [*workers.ROWS, *messages.ROWS, *parts.ROWS, *tritons.ROWS, *surroundings.ROWS]
