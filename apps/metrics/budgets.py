"""A model's promises as budgets: what is spent of them, how fast, and what is left. Pure."""

from dataclasses import dataclass

HOUR_S, DAY_S = 3_600, 86_400
WINDOW_S = 30 * DAY_S
# A p99 may be above its promise this share of the time with traffic; the error ratio's share is the promise itself.
SLOW_SHARE = 0.01


@dataclass(frozen=True, slots=True)
class Spent:
    """What Prometheus says of one promise: the bad share over the budget's window and over the last hour."""

    share: float | None
    recent_share: float | None


@dataclass(frozen=True, slots=True)
class Budget:
    """One promise of one model in one environment.

    `allowed` is the share that may be bad (of requests, or of time). `left` is 1 when nothing of the budget is spent,
    0 when all is, and less when more is. `burn` 1 spends the budget in exactly its window. None: nobody asked.
    """

    model: str
    environment: str
    promise: str
    limit: float
    allowed: float
    spent: Spent
    window_s: int
    requests: float | None = None
    known_s: float | None = None
    remark: str = ""

    @property
    def left(self) -> float | None:
        """What is left of the budget."""
        return None if self.spent.share is None else 1 - _ratio(self.spent.share, self.allowed)

    @property
    def burn(self) -> float | None:
        """How fast it is spent now."""
        return None if self.spent.recent_share is None else _ratio(self.spent.recent_share, self.allowed)

    @property
    def is_broken(self) -> bool:
        """Whether more was spent than there is."""
        return self.left is not None and self.left < 0


def worst(budgets: list[Budget]) -> Budget | None:
    """The one with the least left; one that nobody asked for tells nothing."""
    told = [one for one in budgets if one.left is not None]
    return min(told, key=lambda one: one.left or 0.0, default=None)


def _ratio(share: float, allowed: float) -> float:
    """Of a promise that allows nothing, the first bad request spends everything."""
    if allowed > 0:
        return share / allowed
    return 0.0 if share == 0 else float("inf")
