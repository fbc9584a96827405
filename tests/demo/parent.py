"""A parent to be killed: `python -m tests.demo.parent PART ROOT` starts a part and waits."""

import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from demo.parts.ports import free_port
from demo.parts.postgres import Postgres
from demo.parts.prometheus import Prometheus
from demo.parts.triton import Triton
from demo.parts.triton_environment import prepare_triton
from demo.parts.valkey import Valkey
from tests.demo.doubler import write_doubler


def home() -> Path:
    """Where tests keep what is slow to fetch, shared by all of them."""
    return Path(os.environ.get("CONCH_TEST_HOME", Path(__file__).parents[2] / ".conch-test"))


def make_triton(root: Path) -> Triton:
    """A Triton that loads the model `doubler` at its start."""
    write_doubler(root / "models")
    environment = prepare_triton(home())
    return Triton(root, environment=environment, repository=root / "models", load_models=["doubler"])


PARTS: Mapping[str, Callable[[Path], Valkey | Postgres | Prometheus | Triton]] = {
    "valkey": lambda root: Valkey(root),
    "postgres": lambda root: Postgres(root, port=free_port(), is_fast=True),
    "prometheus": lambda root: Prometheus(root, port=free_port(), packages=home() / "packages"),
    "triton": make_triton,
}


def main() -> None:
    """Start, say so, and do nothing until killed."""
    PARTS[sys.argv[1]](Path(sys.argv[2])).start()
    print("started", flush=True)
    time.sleep(600)


if __name__ == "__main__":
    main()
