"""Whether a load has hurt the other models of its server. Pure."""

from apps.deployments.neighbours import hurt, usual_ms
from apps.deployments.policy import Guard

GUARD = Guard(ratio=3, minimum_ms=20, minimum_requests=10)
USUAL = {"fraud/2": 10.0}
BEGAN = {"fraud/2": (1_000, 10_000_000)}


def after(requests: int, ms: float) -> dict[str, tuple[int, int]]:
    """So many more requests of so many milliseconds."""
    return {"fraud/2": (1_000 + requests, 10_000_000 + int(requests * ms * 1_000))}


def test_a_neighbour_past_the_ratio_and_the_minimum_is_hurt_and_named() -> None:
    (found,) = hurt(USUAL, BEGAN, after(50, 80), guard=GUARD)

    assert str(found) == "fraud/2 took 80 ms instead of 10 ms over 50 requests"


def test_what_is_slower_by_little_is_not_hurt() -> None:
    assert hurt(USUAL, BEGAN, after(50, 29), guard=GUARD) == []
    assert hurt({"fraud/2": 1.0}, BEGAN, after(50, 15), guard=GUARD) == []


def test_too_few_requests_tell_nothing() -> None:
    assert hurt(USUAL, BEGAN, after(9, 500), guard=GUARD) == []


def test_a_neighbour_that_was_loaded_anew_or_is_gone_tells_nothing() -> None:
    assert hurt(USUAL, BEGAN, {"fraud/2": (20, 4_000_000)}, guard=GUARD) == []
    assert hurt(USUAL, BEGAN, {}, guard=GUARD) == []


def test_what_is_usual_is_of_late_where_there_was_enough_and_of_a_life_otherwise() -> None:
    now = {"fraud/2": (1_000, 10_000_000)}

    assert usual_ms({"fraud/2": (900, 9_700_000)}, now, minimum_requests=10) == {"fraud/2": 3.0}
    assert usual_ms({"fraud/2": (995, 9_999_000)}, now, minimum_requests=10) == {"fraud/2": 10.0}
    assert usual_ms({}, {"new/1": (3, 900)}, minimum_requests=10) == {}
