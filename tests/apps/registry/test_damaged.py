"""Archives of every packing with bits flipped and ends cut off: whatever comes of them has a name, or is whole."""

import gzip
import hashlib
import random
import tempfile
from pathlib import Path

import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.common.errors import ControlPlaneError
from apps.registry import refusals
from apps.registry.intake import Checked
from apps.serving.errors import ConfigUnparsable
from tests.apps.registry.checking import check
from tests.apps.registry.conftest import files_under
from tests.factories.archives import good, tarred, zipped

WEIGHTS = random.Random(7).randbytes(700)
ENTRIES = [*good(), ("demo/1/weights.bin", WEIGHTS), ("demo/1/zeros.bin", bytes(3_000))]
GZIPPED = tarred(ENTRIES)
PACKED = {
    "zip": zipped(ENTRIES),
    "tar": gzip.decompress(GZIPPED),
    "tar.gz": GZIPPED,
    "tar.zst": zstandard.ZstdCompressor(write_checksum=True).compress(gzip.decompress(GZIPPED)),
}
# These have a sum over every byte: what passes is what was packed.
SUMMED = ("zip", "tar.gz", "tar.zst")
DIGESTS = {hashlib.sha256(raw.encode() if isinstance(raw, str) else raw).hexdigest() for _, raw in ENTRIES}


@st.composite
def damaged(draw: st.DrawFn) -> tuple[str, bytes]:
    """One packing with up to eight bytes changed, half of them in its first headers, and sometimes cut."""
    packing = draw(st.sampled_from(sorted(PACKED)))
    content = bytearray(PACKED[packing])
    anywhere = st.integers(0, len(content) - 1)
    places = st.integers(0, min(600, len(content) - 1)) | anywhere
    for at, bits in draw(st.lists(st.tuples(places, st.integers(1, 255)), max_size=8)):
        content[at] ^= bits
    return packing, bytes(content[: draw(st.none() | anywhere)])


def outcome(content: bytes, directory: Path) -> Checked | ControlPlaneError:
    """What passed, or the refusal; anything else is an error of the test."""
    try:
        return check(content, directory)
    except (refusals.Refused, ConfigUnparsable) as refused:
        return refused


@given(damaged())
@settings(max_examples=60)
def test_damaged_bytes_end_in_a_named_refusal_or_pass_whole_and_never_otherwise(made: tuple[str, bytes]) -> None:
    packing, content = made
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder)

        found = outcome(content, directory)

        written = [path for path in files_under(directory) if not path.startswith("staging/")]
        listed = {} if isinstance(found, ControlPlaneError) else {line["path"]: line["sha256"] for line in found.files}
        sealed = {
            path: hashlib.sha256((directory / "staging/sealed" / path).read_bytes()).hexdigest() for path in listed
        }
    assert written == ["upload"]
    assert sealed == listed
    assert packing not in SUMMED or set(listed.values()) <= DIGESTS
    assert not isinstance(found, ControlPlaneError) or (found.message and not found.retryable)


def test_each_packing_passes_as_long_as_nothing_is_damaged(tmp_path: Path) -> None:
    for packing, content in PACKED.items():
        (tmp_path / packing).mkdir()

        assert {line["sha256"] for line in check(content, tmp_path / packing).files} == DIGESTS
