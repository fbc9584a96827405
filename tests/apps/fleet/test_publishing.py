"""Publishing: whole or not at all, once, never over something else, and without restarting what is loaded."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from apps.common.names import BadName
from apps.fleet.errors import (
    ArtifactDamaged,
    RepositoryBroken,
    RepositoryFull,
    RepositoryMissing,
    SharedFileDiffers,
    VersionDiffers,
)
from apps.fleet.repositories import posix as repositories
from tests.apps.fleet.conftest import stamps, tree
from tests.factories.artifacts import SealedArtifact, artifact
from tests.fixtures.disks import reflink_disk

CONTENTS = {"version/model.py": b"code", "version/data/weights.bin": b"\x00" * 5_000}


def publish(root: Path, source: SealedArtifact, *, model: str = "demo", number: int = 3) -> repositories.Published:
    return repositories.publish_version(root, model=model, number=number, artifact=source.directory, files=source.files)


def staging_of(root: Path) -> Path:
    return root.parent / f".{root.name}.staging"


def test_a_version_lands_whole_under_its_number(root: Path, tmp_path: Path) -> None:
    published = publish(root, artifact(tmp_path / "a", CONTENTS))

    assert (published.directory, published.was_there, published.copied_bytes) == (root / "demo" / "3", False, 5_004)
    assert tree(root) == ["demo/3/data/weights.bin", "demo/3/model.py"]
    assert tree(staging_of(root)) == []


def test_publishing_again_changes_nothing_byte_code_or_not(root: Path, tmp_path: Path) -> None:
    source = artifact(tmp_path / "a", CONTENTS)
    publish(root, source)
    (root / "demo" / "3" / "__pycache__").mkdir()
    (root / "demo" / "3" / "__pycache__" / "model.cpython-311.pyc").write_bytes(b"code")
    before = list(stamps(root))

    published = publish(root, source)

    assert (published.was_there, published.copied_bytes, list(stamps(root))) == (True, 0, before)


@pytest.mark.parametrize(
    ("path", "content", "says"),
    [
        ("demo/3/model.py", b"edit", "'model.py' has other content"),
        ("demo/3/model.py", b"longer", "'model.py' has other content"),
        ("demo/3/more.py", b"x", "'more.py' is not part of this version"),
    ],
)
def test_other_content_under_the_number_is_never_overwritten(
    path: str, content: bytes, says: str, root: Path, tmp_path: Path
) -> None:
    source = artifact(tmp_path / "a", CONTENTS)
    publish(root, source)
    (root / path).write_bytes(content)

    with pytest.raises(VersionDiffers, match=says):
        publish(root, source)

    assert (root / path).read_bytes() == content


def test_a_file_that_is_missing_is_said(root: Path, tmp_path: Path) -> None:
    source = artifact(tmp_path / "a", CONTENTS)
    publish(root, source)
    (root / "demo" / "3" / "model.py").unlink()

    with pytest.raises(VersionDiffers, match=r"'model.py' is missing"):
        publish(root, source)


@pytest.mark.parametrize(
    ("path", "content"), [("version/model.py", b"edit"), ("version/model.py", None), ("shared/a.txt", b"edit")]
)
def test_damaged_stored_bytes_are_never_published(path: str, content: bytes | None, root: Path, tmp_path: Path) -> None:
    source = artifact(tmp_path / "a", {"version/model.py": b"code", "shared/a.txt": b"text"})
    (source.directory / path).unlink()
    [(source.directory / path).write_bytes(left) for left in [content] if left is not None]

    with pytest.raises(ArtifactDamaged):
        publish(root, source)

    assert not (root / "demo" / "3").exists()
    assert tree(staging_of(root)) == []


@pytest.mark.parametrize("path", ["version/../../evil", "/evil"])
def test_a_manifest_that_leads_out_is_refused(path: str, root: Path, tmp_path: Path) -> None:
    source = artifact(tmp_path / "a", CONTENTS)
    source.files[0]["path"] = path

    with pytest.raises(ArtifactDamaged):
        publish(root, source)

    assert tree(root) == []


@pytest.mark.parametrize("model", ["../demo", "demo.shadow", "a b", ""])
def test_names_are_checked_here_again(model: str, root: Path, tmp_path: Path) -> None:
    with pytest.raises(BadName):
        publish(root, artifact(tmp_path / "a", CONTENTS), model=model)


def test_a_version_larger_than_the_disk_is_refused_and_leaves_nothing(root: Path, tmp_path: Path) -> None:
    source = artifact(tmp_path / "a", CONTENTS)
    source.files[1]["size_bytes"] = 1 << 60

    with pytest.raises(RepositoryFull, match="bytes are needed") as full:
        publish(root, source)

    assert (full.value.retryable, full.value.facts["needed_bytes"]) == (False, (1 << 60) + 4)
    assert tree(root) == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 8 MiB, where this machine lets us mount one."""
    directory = tmp_path / "small"
    directory.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(directory)]
    mounted = subprocess.run(mount, check=False, capture_output=True)
    if mounted.returncode:
        pytest.skip("mounting a small file system needs root")
    yield directory
    subprocess.run(["umount", "--lazy", directory], check=True)


def test_a_disk_that_fills_up_meanwhile_is_named_and_left_as_it_was(small_disk: Path, tmp_path: Path) -> None:
    root = small_disk / "repository"
    root.mkdir()
    source = artifact(tmp_path / "a", {"version/weights.bin": os.urandom(9 << 20)})
    source.files[0]["size_bytes"] = 1  # what the disk holds at first is enough for what is claimed

    with pytest.raises(RepositoryFull, match="No space left") as full:
        publish(root, source)

    assert (full.value.retryable, tree(root), tree(staging_of(root))) == (False, [], [])


@pytest.mark.parametrize(("stored_on", "is_copied"), [("xfs", False), ("tmp", True)])
def test_files_share_their_blocks_with_the_stored_version_where_the_file_system_can(
    stored_on: str, tmp_path: Path, *, is_copied: bool
) -> None:
    content = os.urandom(2 << 20)
    with reflink_disk(tmp_path / "xfs") as disk:
        root, store = disk / "repository", {"xfs": disk, "tmp": tmp_path}[stored_on] / "store"
        root.mkdir()
        source = artifact(store, {"version/weights.bin": content})
        free = shutil.disk_usage(disk).free

        publish(root, source)

        taken = free - shutil.disk_usage(disk).free
        published = root / "demo/3/weights.bin"
        is_whole = published.read_bytes() == content
        published.write_bytes(b"edited")
        is_kept = (store / "version/weights.bin").read_bytes() == content
    assert (taken > len(content) // 2, is_whole, is_kept) == (is_copied, True, True)


def test_a_root_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(RepositoryMissing):
        publish(tmp_path / "nowhere", artifact(tmp_path / "a", CONTENTS))


def test_a_file_where_the_model_belongs_is_a_named_error(root: Path, tmp_path: Path) -> None:
    (root / "demo").write_text("in the way")

    with pytest.raises(RepositoryBroken, match="publishing demo 3"):
        publish(root, artifact(tmp_path / "a", CONTENTS))


def test_shared_files_lie_beside_the_version_and_the_new_ones_are_told(root: Path, tmp_path: Path) -> None:
    source = artifact(tmp_path / "a", CONTENTS | {"shared/labels.txt": b"a", "shared/tokenizer/deep/vocab": b"b"})

    told = [publish(root, source).new_shared for _ in range(2)]

    assert told == [("labels.txt", "tokenizer/deep/vocab"), ()]
    assert (root / "demo" / "tokenizer" / "deep" / "vocab").read_bytes() == b"b"


def test_the_same_shared_file_in_the_next_version_is_fine(root: Path, tmp_path: Path) -> None:
    publish(root, artifact(tmp_path / "a", CONTENTS | {"shared/t/labels.txt": b"a"}))
    before = list(stamps(root / "demo" / "t"))

    published = publish(root, artifact(tmp_path / "b", CONTENTS | {"shared/t/labels.txt": b"a"}), number=4)

    assert (list(stamps(root / "demo" / "t")), published.new_shared) == (before, ())


def test_a_shared_file_that_differs_is_refused_before_the_version_lands(root: Path, tmp_path: Path) -> None:
    publish(root, artifact(tmp_path / "a", CONTENTS | {"shared/labels.txt": b"a"}))

    with pytest.raises(SharedFileDiffers, match=r"labels.txt"):
        publish(root, artifact(tmp_path / "b", CONTENTS | {"shared/a": b"a", "shared/labels.txt": b"b"}), number=4)

    assert tree(root) == ["demo/3/data/weights.bin", "demo/3/model.py", "demo/labels.txt"]


def test_an_ensembles_empty_version_is_published_as_a_directory(root: Path, tmp_path: Path) -> None:
    published = publish(root, artifact(tmp_path / "a", {}))

    assert (tree(root), publish(root, artifact(tmp_path / "a", {})).was_there) == (["demo/3"], True)
    assert published.directory.is_dir()
