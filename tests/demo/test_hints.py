"""What the demo says to try, fresh and after a restart."""

from demo.hints import things


def test_a_fresh_demo_has_three_things_to_try() -> None:
    lines = list(things(live=1, banned=()))

    assert [line[:25] for line in lines] == [f"Promote version {number} of 'dig" for number in (2, 3, 4)]
    assert lines[0] == "Promote version 2 of 'digits' to prod; then roll it back."


def test_what_was_rolled_back_and_banned_is_not_promised_again() -> None:
    assert list(things(live=1, banned={2, 4})) == [
        "Promote version 6 of 'digits' to prod; then roll it back.",
        "Promote version 3 of 'digits' to prod: its golden answers are wrong, so nobody ever gets one.",
    ]


def test_what_is_live_already_can_only_go_back() -> None:
    assert next(things(live=2, banned=())) == "Roll 'digits' in prod back: version 2 is live there."


def test_where_everything_was_tried_nothing_is_said() -> None:
    assert list(things(live=1, banned={2, 3, 4, 6})) == []
