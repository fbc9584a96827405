"""JSON that people and other programs write: however it cannot be read, that is one error."""

import json
from typing import Any


class Decoder(json.JSONDecoder):
    """Says of what nests too deep, or of a number with thousands of digits, that it is no JSON either."""

    def decode(self, s: str, *args: Any) -> Any:
        """The value, or JSONDecodeError, which is a ValueError."""
        try:
            return super().decode(s, *args)
        except json.JSONDecodeError:
            raise
        except (RecursionError, ValueError) as error:
            raise json.JSONDecodeError("Too deep, or a number too long", s, 0) from error


def read_json(text: str | bytes) -> Any:
    """What `text` says; ValueError."""
    return json.loads(text, cls=Decoder)
