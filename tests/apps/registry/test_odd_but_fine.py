"""Archives that look hostile and are not."""

import gzip
from pathlib import Path

import pytest

from tests.apps.registry.checking import check
from tests.factories.archives import CONFIG, gnu_tar, good, streamed, tarred, zipped

HOLES = ("--sparse", "--hole-detection=raw")


@pytest.mark.parametrize("name", ["model.py:stream", "CON", "aux.py", "weights.", "weights ", " weights", "a" * 255])
def test_names_that_only_other_systems_mind_are_kept_as_they_are(name: str, tmp_path: Path) -> None:
    checked = check(zipped([*good(), (f"demo/1/{name}", "x")]), tmp_path)

    assert {line["path"] for line in checked.files} > {f"version/{name}"}
    assert (checked.directory / "version" / name).read_bytes() == b"x"


def test_a_zip_that_was_written_to_a_pipe_passes(tmp_path: Path) -> None:
    assert check(streamed(good()), tmp_path).config_text == CONFIG


def test_a_gz_in_many_parts_passes(tmp_path: Path) -> None:
    whole = gzip.decompress(tarred(good()))
    parts = [gzip.compress(whole[at : at + 700]) for at in range(0, len(whole), 700)]

    assert check(gzip.compress(b"").join([b"", *parts, b""]), tmp_path).config_text == CONFIG


@pytest.mark.parametrize("kind", ["--format=pax", "--format=gnu"])
@pytest.mark.parametrize("options", [(), HOLES])
def test_what_gnu_tar_packs_passes_with_long_names_and_holes(
    kind: str, options: tuple[str, ...], tmp_path: Path
) -> None:
    holes = b"a" + bytes(1 << 20) + b"z"
    deep = f"demo/1/{'d' * 120}/{'n' * 200}é.bin"
    content = gnu_tar(tmp_path / "packed", [*good(), (deep, holes)], kind, *options)

    checked = check(content, tmp_path)

    assert (checked.directory / "version" / deep.removeprefix("demo/1/")).read_bytes() == holes
