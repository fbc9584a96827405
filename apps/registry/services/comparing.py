"""What has come of an upload, in digests: whoever goes on with a file looks first whether it is the same one."""

from dataclasses import dataclass

from apps.common.actor import Actor
from apps.registry import artifacts, growing, selectors
from apps.registry.errors import NothingToCompare
from apps.registry.states import WAITING_UPLOADS

BLOCK_BYTES = 64 << 20
# One answer is a gigabyte read: a second or two.
MOST_BLOCKS = 16


@dataclass(frozen=True, slots=True)
class Blocks:
    """The SHA-256 of each block of what has come, from number `first` on; `next` is None where these are the last."""

    block_bytes: int
    received_bytes: int
    first: int
    sha256: tuple[str, ...]

    @property
    def next(self) -> int | None:
        """The number of the first block that is not among these."""
        after = self.first + len(self.sha256)
        return after if after * self.block_bytes < self.received_bytes else None


def received_blocks(actor: Actor, key: str, *, first: int = 0) -> Blocks:
    """Of an upload of the actor's own that still comes in, or waits for its number; else NothingToCompare."""
    upload = selectors.get_upload(actor, key)
    if upload.state not in WAITING_UPLOADS:
        raise NothingToCompare(f"{upload} is {upload.state}: its bytes wait for nothing", state=upload.state)
    path = artifacts.incoming(selectors.store(), upload.key)
    size = upload.received_bytes
    with artifacts.faults(path.parent, doing=f"reading {upload}"):
        found = growing.block_digests(path, size_bytes=size, block_bytes=BLOCK_BYTES, first=first, most=MOST_BLOCKS)
    return Blocks(BLOCK_BYTES, size, first, tuple(found))
