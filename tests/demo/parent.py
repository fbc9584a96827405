"""A parent to be killed: `python -m tests.demo.parent PART ROOT` starts a part and waits."""

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
from tests.demo.home import shared_home


def make_triton(root: Path) -> Triton:
    """A Triton that loads the model `doubler` at its start."""
    write_doubler(root / "models")
    environment = prepare_triton(shared_home())
    return Triton(root, environment=environment, repository=root / "models", load_models=["doubler"])


PARTS: Mapping[str, Callable[[Path], Valkey | Postgres | Prometheus | Triton]] = {
    "valkey": Valkey,
    "postgres": lambda root: Postgres(root, port=free_port(), is_fast=True),
    "prometheus": lambda root: Prometheus(root, port=free_port(), packages=shared_home() / "packages"),
    "triton": make_triton,
}


def main() -> None:
    """Start, say so, and do nothing until killed."""
    PARTS[sys.argv[1]](Path(sys.argv[2])).start()
    sys.stdout.write("started\n")
    sys.stdout.flush()
    time.sleep(600)


if __name__ == "__main__":
    main()
