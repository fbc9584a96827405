"""How large the fleets are in which pages are measured."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Size:
    """How many models on how many servers; every model is placed in every environment."""

    models: int
    servers: int

    @property
    def rows(self) -> int:
        """Models x servers."""
        return self.models * self.servers


# Each fleet is the one before, grown.
SIZES = (Size(5, 2), Size(20, 5), Size(100, 10))
ROWS = tuple(size.rows for size in SIZES)
