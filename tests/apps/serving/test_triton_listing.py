"""The index of a repository in which others work while the server lists it."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from apps.serving.backends.triton.listing import PAUSES_S
from apps.serving.errors import ServerFailed
from apps.serving.protocol import ServingBackend
from demo.parts.triton import Triton
from tests.apps.serving.conftest import lines
from tests.factories.triton_models import python_model


@pytest.fixture
def vanishing(triton: Triton) -> Iterator[Path]:
    """An entry that the server sees in its repository and cannot look at: a link that leads nowhere."""
    entry = triton.repository / ".conch-a"
    entry.symlink_to("nowhere")
    yield entry
    entry.unlink(missing_ok=True)


def test_an_entry_that_vanishes_while_the_index_is_read_costs_nothing(
    triton: Triton, backend: ServingBackend, vanishing: Path
) -> None:
    python_model(triton.repository, "stays", 1, config=True)
    gone = threading.Timer(sum(PAUSES_S) / 4, vanishing.unlink)

    gone.start()
    found = lines(backend, "stays")
    gone.join()

    assert list(found) == [None]


def test_a_link_that_leads_nowhere_for_good_is_said(backend: ServingBackend, vanishing: Path) -> None:
    with pytest.raises(ServerFailed, match=f"failed to stat file .*{os.path.basename(vanishing)}"):
        backend.index()
