"""Where tests find what is slow to fetch: Triton's environment, unpacked packages."""

import os
from pathlib import Path


def shared_home() -> Path:
    """The stack's own state folder, or CONCH_TEST_CACHE; only ever added to."""
    return Path(os.environ.get("CONCH_TEST_CACHE", Path(__file__).parents[2] / ".conch"))
