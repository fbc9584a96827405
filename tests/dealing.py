"""How the tests are dealt out to the processes of a run: what waits longest begins first."""

from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling

# Rooms whose tests wait for servers and browsers; what is quick fills the end.
LONG_FIRST = (
    "tests/faults/",
    "tests/worker/",
    "tests/e2e/",
    "tests/demo/",
    "tests/apps/metrics/",
    "tests/apps/serving/",
)
# In one process these would end long after all others.
DEALT_ONE_BY_ONE = frozenset({"tests/faults/test_faults.py"})


class ByFileOrOneByOne(LoadFileScheduling):  # type: ignore[misc]
    """A file stays in one process for the servers its tests share, but for those dealt test by test."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        return nodeid if file in DEALT_ONE_BY_ONE else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFileOrOneByOne:
    """Deal in the order in which the tests were collected, instead of the files with most tests first."""
    config.option.loadscopereorder = False
    return ByFileOrOneByOne(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put in order what will be dealt out; a run in one process keeps its own order."""
    if hasattr(config, "workerinput"):
        items.sort(key=_place)


def _place(item: pytest.Item) -> int:
    """The earlier, the longer the room's tests take."""
    rooms = (place for place, room in enumerate(LONG_FIRST) if item.nodeid.startswith(room))
    return next(rooms, len(LONG_FIRST))
