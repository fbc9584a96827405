"""How much room a repository has is kept with the rounds that observe its servers."""

from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from apps.fleet.models import Repository
from apps.fleet.repositories import open_home
from apps.fleet.services.rooms import Rooms

pytestmark = pytest.mark.django_db
START = timezone.now()


def round_at(second: int) -> Repository:
    """One round's reading; the row after it."""
    row = Repository.objects.get()
    rooms = Rooms()
    rooms.read(row, open_home(row))
    rooms.keep(now=START + timedelta(seconds=second))
    return Repository.objects.get()


def test_what_is_free_is_kept_and_written_again_once_it_is_old_or_has_moved(environment: str) -> None:
    first, soon, later = round_at(0), round_at(30), round_at(61)
    Repository.objects.update(free_bytes=1)

    moved = round_at(62)

    assert [row.free_at for row in (first, soon, later, moved)] == [
        START,
        START,
        START + timedelta(seconds=61),
        START + timedelta(seconds=62),
    ]
    assert (first.free_bytes or 0) > 1
    assert (moved.free_bytes or 0) > 1


def test_a_repository_that_cannot_be_read_keeps_its_last_reading_which_grows_old(environment: str, root: Path) -> None:
    before = round_at(0)
    root.rmdir()

    after = round_at(600)

    assert (after.free_bytes, after.free_at) == (before.free_bytes, before.free_at)
