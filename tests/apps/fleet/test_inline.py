"""Repositories that are none: what a load call carries, and what it refuses to."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from apps.common.names import BadName
from apps.fleet.errors import ArtifactDamaged, BadPath, InlineTooLarge, RepositoryKindUnknown, SharedFileDiffers
from apps.fleet.repositories import kind_of
from apps.fleet.repositories.inline import Inline, files
from tests.factories.artifacts import artifact


@dataclass(frozen=True)
class Bytes:
    """A version as a load call carries it."""

    number: int
    artifact: Path
    files: list[dict[str, Any]]


def version(folder: Path, number: int, contents: dict[str, bytes]) -> Bytes:
    made = artifact(folder / str(number), contents)
    return Bytes(number, made.directory, made.files)


def test_a_load_brings_every_file_of_every_version_it_names(tmp_path: Path) -> None:
    one = version(tmp_path, 1, {"version/model.py": b"one", "shared/labels.txt": b"cat"})
    two = version(tmp_path, 12, {"version/model.py": b"two", "version/data/w.bin": b"w", "shared/labels.txt": b"cat"})

    carried = Inline("inline:x", {}).carried([two, one])

    assert carried == {
        "1/model.py": b"one",
        "12/model.py": b"two",
        "12/data/w.bin": b"w",
        "labels.txt": b"cat",
    }


def test_versions_that_share_a_file_agree_on_it(tmp_path: Path) -> None:
    one = version(tmp_path, 1, {"version/model.py": b"one", "shared/labels.txt": b"cat"})
    two = version(tmp_path, 2, {"version/model.py": b"two", "shared/labels.txt": b"dog"})

    with pytest.raises(SharedFileDiffers, match=r"labels\.txt: version 2 has other content"):
        Inline("inline:x", {}).carried([one, two])


def test_what_no_call_can_carry_is_refused_before_it_is_read(tmp_path: Path) -> None:
    half = {"path": "version/w.bin", "size_bytes": files.MOST_BYTES // 2 + 1, "sha256": "0"}
    one, two = (Bytes(number, tmp_path, [half]) for number in (1, 2))

    with pytest.raises(InlineTooLarge, match=r"version 1, 2: 1,073,741,826 bytes are more than"):
        Inline("inline:x", {}).carried([one, two])


@pytest.mark.parametrize("content", [b"edit", None])
def test_bytes_that_are_not_those_received_go_to_no_server(content: bytes | None, tmp_path: Path) -> None:
    one = version(tmp_path, 1, {"version/model.py": b"code"})
    file = one.artifact / "version" / "model.py"
    file.unlink()
    file.write_bytes(content) if content else None

    with pytest.raises(ArtifactDamaged, match=r"not the one it was stored with|is not there"):
        Inline("inline:x", {}).publish(model="m", version=one)


def test_a_file_name_that_no_load_may_carry_is_refused_when_it_is_published(tmp_path: Path) -> None:
    odd = version(tmp_path, 1, {"version/a;b.bin": b"x"})

    with pytest.raises(BadName, match="a;b"):
        Inline("inline:x", {}).publish(model="m", version=odd)


def test_an_inline_repository_has_no_path_and_none_is_unknown_by_another_name() -> None:
    assert Inline.clean_place("", name="edge") == Inline.clean_place("inline:edge", name="edge") == "inline:edge"
    with pytest.raises(BadPath, match="no path"):
        Inline.clean_place("/models", name="edge")
    with pytest.raises(RepositoryKindUnknown, match="'nfs' is not one of posix, s3, inline"):
        kind_of("nfs")
