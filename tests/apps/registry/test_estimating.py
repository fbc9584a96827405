"""When all bytes of a fetch are here, as far as that is known."""

from datetime import UTC, datetime, timedelta

import pytest

from apps.registry.estimating import all_here, rate_bytes_s

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
MIB = 2**20


def ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("received", "size", "moved_s", "left_s", "why"),
    [
        # 100 MiB in the first 100 s, of 300; the last byte came 10 s ago.
        (100 * MIB, 300 * MIB, 10, 190, ""),
        (100 * MIB, 100 * MIB, 0, 0, ""),
        (0, 300 * MIB, 110, None, "nothing has come yet"),
        (100 * MIB, None, 10, None, "the source does not say how much there is"),
        (100 * MIB, 300 * MIB, 121, None, "nothing came for a while"),
        (100 * MIB, 105 * MIB, 10, None, "it comes slower than before"),
    ],
)
def test_what_is_left_comes_as_fast_as_what_came(
    received: int, size: int | None, moved_s: float, left_s: float | None, why: str
) -> None:
    began_at = ago(moved_s + 100) if received else ago(moved_s)

    left = all_here(received, size, began_at=began_at, moved_at=ago(moved_s), now=NOW)

    assert (left.left_s(NOW), left.why) == (left_s, why)


def test_a_moment_is_no_rate() -> None:
    assert rate_bytes_s(MIB, began_at=NOW, moved_at=NOW) is None
    assert rate_bytes_s(MIB, began_at=ago(2), moved_at=NOW) == MIB / 2
