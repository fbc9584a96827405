"""SHA-256 of bytes as they come in, taken beside whoever brings them: receiving and hashing cost as much each."""

import hashlib
from concurrent.futures import Future, ThreadPoolExecutor

# hashlib lets go of the interpreter while it works; each hash has one piece under way at most.
_hashers = ThreadPoolExecutor(8, thread_name_prefix="hash")


class Sha256:
    """Of pieces in their order. Of one sender at a time."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._under_way: Future[None] | None = None

    def update(self, piece: bytes) -> None:
        """Another piece; the one before it is waited for."""
        self._settle()
        self._under_way = _hashers.submit(self._hash.update, piece)

    def hexdigest(self) -> str:
        """Of all pieces so far."""
        self._settle()
        return self._hash.hexdigest()

    def _settle(self) -> None:
        if self._under_way is not None:
            self._under_way.result()
            self._under_way = None
