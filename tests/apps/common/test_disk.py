"""The door to disks: what the operating system says becomes the owner's error."""

import errno
import os
from pathlib import Path

import pytest

from apps.common.disk import Disk
from apps.common.errors import Conflict, ControlPlaneError, Invalid, NotAllowed, NotFound

DISK = Disk(full=Conflict, broken=Invalid, forbidden=NotAllowed, missing=NotFound, reserve_bytes=1)


@pytest.mark.parametrize(
    ("number", "error"),
    [
        (errno.ENOSPC, Conflict),
        (errno.EDQUOT, Conflict),
        (errno.EACCES, NotAllowed),
        (errno.EROFS, NotAllowed),
        (errno.EIO, Invalid),
    ],
)
def test_a_fault_gets_its_name_and_says_where(number: int, error: type[ControlPlaneError], tmp_path: Path) -> None:
    says = f"{tmp_path}: writing a file: {os.strerror(number)}"

    with pytest.raises(error, match=says) as raised, DISK.faults(tmp_path, doing="writing a file", needed_bytes=7):
        raise OSError(number, os.strerror(number))

    assert raised.value.facts["path"] == str(tmp_path)


def test_a_directory_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(NotFound), DISK.faults(tmp_path / "gone", doing="reading"):
        os.listdir(tmp_path / "gone")


def test_without_names_of_their_own_all_other_faults_are_broken(tmp_path: Path) -> None:
    plain = Disk(full=Conflict, broken=Invalid)

    with pytest.raises(Invalid), plain.faults(tmp_path, doing="writing"):
        raise PermissionError(errno.EACCES, "Permission denied")


def test_room_counts_the_reserve(tmp_path: Path) -> None:
    DISK.require_room(tmp_path, 0)

    with pytest.raises(Conflict, match="1,125,899,906,842,624 bytes are needed"):
        DISK.require_room(tmp_path, 1 << 50)
    with pytest.raises(Conflict):
        Disk(full=Conflict, broken=Invalid, reserve_bytes=1 << 50).require_room(tmp_path, 0)
