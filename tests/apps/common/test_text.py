"""Hostile text is safe to keep, to show and to send; a number is one only where any column can hold it."""

import pytest

from apps.common.text import printable, whole_number


@pytest.mark.parametrize("hostile", ["\x1b[31mred", "a\x00b", "\u202eevil", "half \ud800 a pair", "\udfff"])
def test_what_cannot_be_shown_or_sent_is_replaced(hostile: str) -> None:
    shown = printable(hostile)

    assert shown.isprintable()
    assert shown.encode()


@pytest.mark.parametrize("text", ["resnet \N{SNOWMAN}", "two\nlines\tand a tab", "\N{CRAB}"])
def test_plain_words_stay_as_they_are(text: str) -> None:
    assert printable(text) == text


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("007", 7),
        ("9223372036854775807", 2**63 - 1),
        ("9223372036854775808", None),
        ("9" * 5_000, None),
        ("\N{SUPERSCRIPT TWO}", None),
        ("\N{ARABIC-INDIC DIGIT THREE}", None),
        ("-1", None),
        ("1.0", None),
        ("1\n", None),
        ("", None),
    ],
)
def test_a_number_is_plain_digits_that_fit(text: str, number: int | None) -> None:
    assert whole_number(text) == number
