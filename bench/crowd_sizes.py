"""How large the fleets are in which pages are measured, and what each model in them has."""

from dataclasses import dataclass

VERSIONS = 3
TENSOR = {"name": "x", "datatype": "FP32", "shape": [1, 4], "data": [1, 1, 1, 1]}


@dataclass(frozen=True)
class Size:
    """How many models on how many servers; every model is placed in every environment.

    `past` is how many rollouts, events and probes there have been, None: one for each row.
    """

    models: int
    servers: int
    past: int | None = None

    @property
    def rows(self) -> int:
        """Models x servers."""
        return self.models * self.servers

    @property
    def history(self) -> int:
        """How many rollouts, events and probes there have been."""
        return self.rows if self.past is None else self.past


# Each fleet is the one before, grown.
SIZES = (Size(5, 2), Size(20, 5), Size(100, 10))
# What a large site has; the console must still be usable.
LARGE = Size(200, 100, past=200)
ROWS = tuple(size.rows for size in SIZES)
