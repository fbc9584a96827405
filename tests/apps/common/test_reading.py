"""JSON that cannot be read is one error, whatever is wrong with it."""

import pytest

from apps.common.reading import read_json


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, '{"a":' * 100_000, "9" * 5_000, b"\xff\xfe\x00"])
def test_what_cannot_be_read_is_a_value_error(text: str | bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_json(text)


def test_what_can_be_read_is_what_it_says() -> None:
    assert read_json('{"a": [1, "b"]}') == {"a": [1, "b"]}
