"""The directory as servers see it: shadows, configurations, time stamps, leftovers."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from apps.fleet.errors import RepositoryMissing, RepositoryNotWritable, RepositoryOnOwnMount, VersionNotPublished
from apps.fleet.repositories import posix as repositories
from tests.apps.fleet.conftest import stamps, tree


@pytest.fixture
def demo(root: Path) -> Path:
    """demo with versions 2 and 3 and a shared file."""
    for number in ("2", "3"):
        (root / "demo" / number).mkdir(parents=True)
        (root / "demo" / number / "model.py").write_text(number)
    (root / "demo" / "labels.txt").write_text("shared")
    (root / "demo" / "config.pbtxt").write_text("the live one")
    return root / "demo"


def test_a_shadow_is_the_live_version_by_link_with_a_configuration_of_its_own(root: Path, demo: Path) -> None:
    before = list(stamps(demo))

    shadow = repositories.make_shadow(root, model="demo", number=3, config_text="its own")

    assert tree(shadow) == ["3", "config.pbtxt", "labels.txt"]
    assert (os.readlink(shadow / "3"), os.readlink(shadow / "labels.txt")) == ("../demo/3", "../demo/labels.txt")
    assert ((shadow / "3" / "model.py").read_text(), (shadow / "config.pbtxt").read_text()) == ("3", "its own")
    assert list(stamps(demo)) == before


def test_making_it_again_is_nothing_new(root: Path, demo: Path) -> None:
    first = repositories.make_shadow(root, model="demo", number=3, config_text="same")
    before = os.stat(first).st_ino

    again = repositories.make_shadow(root, model="demo", number=3, config_text="same")

    assert os.stat(again).st_ino == before


def test_another_shadow_takes_its_place_whole(root: Path, demo: Path) -> None:
    repositories.make_shadow(root, model="demo", number=3, config_text="three")

    shadow = repositories.make_shadow(root, model="demo", number=2, config_text="two")

    assert (tree(shadow), (shadow / "config.pbtxt").read_text()) == (["2", "config.pbtxt", "labels.txt"], "two")


def test_a_removed_shadow_leaves_the_version_and_may_be_removed_again(root: Path, demo: Path) -> None:
    repositories.make_shadow(root, model="demo", number=3, config_text="x")

    removed = [repositories.remove_shadow(root, model="demo") for _ in range(2)]

    assert (removed, repositories.listing(root)) == ([True, False], ["demo"])
    assert (demo / "3" / "model.py").read_text() == "3"


def test_no_shadow_points_at_nothing(root: Path) -> None:
    with pytest.raises(VersionNotPublished):
        repositories.make_shadow(root, model="demo", number=9, config_text="x")

    assert repositories.listing(root) == []


def test_a_configuration_is_replaced_in_one_step_and_only_when_it_differs(root: Path, demo: Path) -> None:
    inode = os.stat(demo / "config.pbtxt").st_ino

    told = [repositories.write_config(root, model="demo", text=text) for text in ("the live one", "new")]

    assert (told, repositories.read_config(root, model="demo")) == ([False, True], "new")
    assert os.stat(demo / "config.pbtxt").st_ino != inode
    assert tree(demo) == ["2/model.py", "3/model.py", "config.pbtxt", "labels.txt"]


def test_a_configuration_is_there_or_not(root: Path, demo: Path) -> None:
    removed = [repositories.remove_model_config(root, model="demo") for _ in range(2)]

    assert (removed, repositories.read_config(root, model="demo")) == ([True, False], None)
    assert repositories.read_config(root, model="nobody") is None


MOVES: dict[str, Callable[[Path], object]] = {
    "byte code": lambda demo: (demo / "3" / "__pycache__").mkdir(),
    "a file edited": lambda demo: (demo / "3" / "model.py").write_text("edited"),
    "a file made older": lambda demo: os.utime(demo / "3" / "model.py", (0, 0)),
    "a file's mode": lambda demo: os.chmod(demo / "3" / "model.py", 0o600),
    "a new shared file": lambda demo: (demo / "more.txt").write_text("more"),
    "a shared file in a directory": lambda demo: (demo / "tokenizer" / "vocab").write_text("more"),
}
STAYS: dict[str, Callable[[Path], object]] = {
    "the configuration": lambda demo: (demo / "config.pbtxt").write_text("edited"),
    "another version": lambda demo: (demo / "2" / "model.py").write_text("edited"),
    "a new version": lambda demo: (demo / "4").mkdir(),
    "a shared file removed": lambda demo: (demo / "labels.txt").unlink(),
}


def moved_by(change: Callable[[Path], object], root: Path, demo: Path) -> bool:
    (demo / "tokenizer").mkdir()
    before = repositories.newest_stamp_ns(root, model="demo", number=3)
    time.sleep(0.02)  # a tick of the file system's clock
    change(demo)
    return repositories.newest_stamp_ns(root, model="demo", number=3) != before


@pytest.mark.parametrize("change", MOVES.values(), ids=MOVES)
def test_the_newest_stamp_moves_with_what_restarts_a_version(
    change: Callable[[Path], object], root: Path, demo: Path
) -> None:
    assert moved_by(change, root, demo)


@pytest.mark.parametrize("change", STAYS.values(), ids=STAYS)
def test_the_newest_stamp_stays_with_what_does_not(change: Callable[[Path], object], root: Path, demo: Path) -> None:
    assert not moved_by(change, root, demo)


def test_a_version_that_is_not_there_has_no_stamp(root: Path, demo: Path) -> None:
    assert repositories.newest_stamp_ns(root, model="demo", number=4) is None


def test_a_shadow_has_the_stamps_of_its_version(root: Path, demo: Path) -> None:
    repositories.make_shadow(root, model="demo", number=3, config_text="x")

    live, shadow = (repositories.newest_stamp_ns(root, model=name, number=3) for name in ("demo", "demo.shadow"))

    assert live == shadow


@pytest.mark.parametrize("name", ["2.tmp", "2_bak", "3 copy", "-1", "+4", "01", "0", str(2**63), "v2"])
def test_names_a_server_would_misread_are_strange(name: str, root: Path, demo: Path) -> None:
    (demo / name).mkdir()

    assert repositories.strange_entries(root, model="demo") == [name]


def test_a_link_to_nowhere_is_strange_and_the_rest_is_not(root: Path, demo: Path) -> None:
    (demo / "lost").symlink_to("nowhere")
    (demo / "tokenizer").mkdir()

    assert repositories.strange_entries(root, model="demo") == ["lost"]
    assert repositories.strange_entries(root, model="nobody") == []


def test_the_listing_is_every_directory_hidden_ones_too(root: Path, demo: Path) -> None:
    (root / ".hidden").mkdir()
    (root / "file").write_text("x")

    assert repositories.listing(root) == [".hidden", "demo"]


def test_the_sweep_removes_old_shadows_of_nobody(root: Path, demo: Path) -> None:
    (root / "kept" / "1").mkdir(parents=True)
    repositories.make_shadow(root, model="demo", number=3, config_text="x")
    repositories.make_shadow(root, model="kept", number=1, config_text="x")
    (root / "broken.shadow").symlink_to("nowhere")

    young = repositories.sweep(root, keep_shadows={"kept"})
    swept = repositories.sweep(root, keep_shadows={"kept"}, older_than_s=0)

    assert (young, swept) == ([], ["broken.shadow", "demo.shadow"])
    assert repositories.listing(root) == ["demo", "kept", "kept.shadow"]
    assert (demo / "3" / "model.py").read_text() == "3"


def test_the_sweep_removes_what_was_staged_long_ago(root: Path) -> None:
    staging = root.parent / f".{root.name}.staging"
    for name in ("old", "young"):
        (staging / name).mkdir(parents=True)
    os.utime(staging / "old", (0, 0))

    repositories.sweep(root, keep_shadows=())

    assert os.listdir(staging) == ["young"]


def test_a_usable_root_passes_and_stays_as_it_was(root: Path) -> None:
    repositories.check_root(root)

    assert (os.listdir(root), repositories.free_bytes(root) > 0) == ([], True)


def test_a_root_that_is_not_there_or_a_file_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")

    for path in (tmp_path / "nowhere", tmp_path / "file"):
        with pytest.raises(RepositoryMissing):
            repositories.check_root(path)


def test_a_root_that_takes_no_files_is_said() -> None:
    with pytest.raises(RepositoryNotWritable):
        repositories.check_root(Path("/proc/self"))


def test_a_mount_point_cannot_be_staged_beside() -> None:
    with pytest.raises(RepositoryOnOwnMount, match="another file system"):
        repositories.check_root(Path("/proc"))
