"""SHA-256 taken beside whoever brings the bytes."""

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from apps.common.hashing import Sha256


@given(st.lists(st.binary(max_size=5_000)))
def test_it_is_the_digest_of_the_pieces_in_their_order_after_each_of_them(pieces: list[bytes]) -> None:
    known, told = Sha256(), []

    for piece in pieces:
        known.update(piece)
        told.append(known.hexdigest())

    whole = [b"".join(pieces[: count + 1]) for count in range(len(pieces))]
    assert told == [hashlib.sha256(part).hexdigest() for part in whole]
