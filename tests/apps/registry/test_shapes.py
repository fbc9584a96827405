"""Uploads in every shape people have: four packings, wrappers, one version, several, and bare files."""

import gzip
import io
import tarfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apps.registry import refusals
from apps.registry.models import Version
from apps.serving.backends.triton.config import CONFIG as FORMAT
from apps.serving.backends.triton.onnx_graph import GraphTensor, read_graph
from apps.serving.errors import ConfigUnparsable
from tests.apps.registry.checking import check
from tests.apps.registry.conftest import files_under
from tests.factories.archives import CONFIG, MODEL_PY, Entry, good, tarred, zipped
from tests.factories.onnx import FLOAT, INT64, STRING, classifier, field, onnx_model, tensor

COMPLETING = "class TritonPythonModel:\n    def auto_complete_config(c): ...\n    def execute(self, r): ...\n"


def plain_tar(entries: list[Entry]) -> bytes:
    return gzip.decompress(tarred(entries))


def old_tar(entries: list[Entry]) -> bytes:
    """As tars were before they had a mark: only the header's sum tells."""
    kept = io.BytesIO(plain_tar(entries))
    with tarfile.open(fileobj=kept) as archive:
        out = bytearray(kept.getvalue())
        for member in archive.getmembers():
            out[member.offset + 257 : member.offset + 265] = bytes(8)
            block = out[member.offset : member.offset + 512]
            block[148:156] = b" " * 8
            out[member.offset + 148 : member.offset + 156] = b"%06o\x00 " % sum(block)
    return bytes(out)


def zstd(entries: list[Entry], **options: Any) -> bytes:
    return zstandard.ZstdCompressor(**options).compress(plain_tar(entries))


@pytest.mark.parametrize("pack", [zipped, tarred, plain_tar, old_tar, zstd])
def test_a_model_directory_passes_in_every_packing(pack: Callable[[list[Entry]], bytes], tmp_path: Path) -> None:
    checked = check(pack(good()), tmp_path)

    assert files_under(checked.directory) == ["config.pbtxt", "version/model.py"]


@pytest.mark.parametrize("pack", [plain_tar, zstd])
def test_a_tar_cut_or_damaged_is_refused_by_name(pack: Callable[[list[Entry]], bytes], tmp_path: Path) -> None:
    content = pack(good())
    accepted = []

    # Of the zeros that end a plain tar, only the first block says anything.
    for kept in range(0, len(content.rstrip(b"\0")), 97):
        (tmp_path / str(kept)).mkdir()
        try:
            accepted.append(check(content[:kept], tmp_path / str(kept)))
        except refusals.Refused:
            continue

    assert accepted == []


def test_unpacking_takes_no_more_memory_for_a_larger_file(tmp_path: Path) -> None:
    content = zstd([*good(), ("demo/1/weights.bin", bytes(48 << 20))], level=3)
    tracemalloc.start()

    check(content, tmp_path)

    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 24 << 20


def test_wrapper_directories_are_left_out_and_said_so(tmp_path: Path) -> None:
    checked = check(zipped(good(top="downloads/export-3/demo/")), tmp_path)

    assert files_under(checked.directory) == ["config.pbtxt", "version/model.py"]
    assert "the directories downloads/export-3/" in checked.remarks[0]


def test_files_beside_config_without_a_version_directory_become_the_version(tmp_path: Path) -> None:
    entries: list[Entry] = [("config.pbtxt", CONFIG), ("model.py", MODEL_PY), ("vocab/a.txt", "a")]

    checked = check(zipped(entries), tmp_path)

    assert files_under(checked.directory) == ["config.pbtxt", "version/model.py", "version/vocab/a.txt"]
    assert "There is no version directory" in checked.remarks[0]


def several() -> bytes:
    return zipped([*good(), ("demo/7/model.py", COMPLETING), ("demo/labels.txt", "a")])


def test_several_versions_are_listed_and_one_is_taken_when_named(tmp_path: Path) -> None:
    with pytest.raises(refusals.SeveralVersions) as asked:
        check(several(), tmp_path)
    (tmp_path / "again").mkdir()

    checked = check(several(), tmp_path / "again", version_directory="7")

    assert asked.value.facts["versions"] == ["1", "7"]
    assert files_under(checked.directory) == ["config.pbtxt", "shared/labels.txt", "version/model.py"]
    assert (checked.directory / "version/model.py").read_text() == COMPLETING
    assert "not asked for: the versions 1" in checked.remarks[0]


def test_a_version_that_is_not_in_the_archive_is_refused_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(refusals.VersionDirectoryMissing, match="'3', only 1, 7"):
        check(several(), tmp_path, version_directory="3")


@pytest.mark.django_db
def test_two_versions_out_of_one_archive_are_two_artifacts(arrive: Callable[..., Version]) -> None:
    first, second = (arrive(several(), version_directory=name) for name in ("1", "7"))

    assert (first.state, second.state) == ("ready", "ready")
    assert first.digest == second.digest
    assert first.artifact != second.artifact


@pytest.mark.parametrize("top", ["", "model/", "downloads/resnet/", "3/"])
def test_an_onnx_file_gets_a_configuration_from_its_graph(top: str, tmp_path: Path) -> None:
    checked = check(zipped([(f"{top}model.onnx", classifier())]), tmp_path)

    assert checked.config.document == {
        "backend": "onnxruntime",
        "input": [{"name": "pixels", "data_type": "TYPE_FP32", "dims": [-1, 64]}],
        "output": [{"name": "label", "data_type": "TYPE_INT64", "dims": [-1]}],
    }
    assert [line["path"] for line in checked.files] == ["version/model.onnx"]
    assert "one was made from model.onnx" in checked.remarks[-1]
    assert FORMAT.parse(checked.config_text) == checked.config


@pytest.mark.parametrize("filename", ["resnet.onnx", "C:\\models\\RESNET.ONNX"])
def test_a_file_by_itself_needs_no_archive(filename: str, tmp_path: Path) -> None:
    checked = check(classifier(), tmp_path, filename=filename)

    assert files_under(checked.directory) == ["config.pbtxt", "version/model.onnx"]


def test_a_file_with_a_name_of_its_own_gets_its_backends_in_an_archive_too(tmp_path: Path) -> None:
    entries: list[Entry] = [("resnet50.onnx", classifier()), ("resnet50.data", b"x"), (".git/HEAD", "ref")]

    checked = check(zipped(entries), tmp_path)

    assert files_under(checked.directory / "version") == ["model.onnx", "resnet50.data"]
    assert "resnet50.onnx is called model.onnx here, as its backend looks for it." in checked.remarks


def test_a_file_that_the_configuration_names_keeps_its_name(tmp_path: Path) -> None:
    with pytest.raises(refusals.VersionDirectoryMissing, match=r"resnet50\.onnx"):
        check(zipped([("config.pbtxt", CONFIG), ("resnet50.onnx", classifier())]), tmp_path)


SAVED = "version/model.savedmodel/saved_model.pb"
BARE: list[tuple[list[Entry], str, str]] = [
    ([("model.plan", b"ftrt...")], "tensorrt", "version/model.plan"),
    (
        [("saved_model.pb", b"x"), ("variables/variables.index", b"x")],
        "tensorflow",
        "version/model.savedmodel/saved_model.pb",
    ),
    ([("model.savedmodel/saved_model.pb", b"x")], "tensorflow", SAVED),
    ([("model.py", COMPLETING), ("tokens/a.txt", b"x")], "python", "version/model.py"),
    ([("model.py", COMPLETING), ("model.onnx", b"x")], "python", "version/model.onnx"),
    ([("1/model.py", COMPLETING), ("1/model.pt", b"x")], "python", "version/model.pt"),
    ([("engines/net-fp16.engine", b"ftrt...")], "tensorrt", "version/model.plan"),
]


@pytest.mark.parametrize(("entries", "backend", "path"), BARE)
def test_what_the_server_completes_gets_a_short_configuration(
    entries: list[Entry], backend: str, path: str, tmp_path: Path
) -> None:
    checked = check(zipped(entries), tmp_path)

    assert checked.config.backend == backend
    assert path in [line["path"] for line in checked.files]


def test_a_torch_file_takes_the_last_versions_configuration_though_it_is_a_zip_itself(tmp_path: Path) -> None:
    earlier = CONFIG.replace("python", "pytorch")

    checked = check(zipped([("net/data.pkl", "x")]), tmp_path, filename="net.pt", earlier_config=earlier)

    assert (checked.config_text, [line["path"] for line in checked.files]) == (earlier, ["version/model.pt"])
    assert "last version" in checked.remarks[-1]


def test_a_configuration_of_another_backend_is_not_borrowed(tmp_path: Path) -> None:
    with pytest.raises(refusals.ConfigNeeded, match=r"model\.pt does not tell"):
        check(b"PK\x03\x04 and so on", tmp_path, filename="net.pt", earlier_config=CONFIG)


def graph_of(content: bytes) -> Any:
    return read_graph(io.BytesIO(content))


def test_weights_are_no_inputs_and_are_stepped_over() -> None:
    inputs = [tensor("x", FLOAT, [2, "n"]), tensor("w", FLOAT, [5])]

    graph = graph_of(onnx_model(inputs, [tensor("y", STRING, [])], weights=["w"], size=1_000_000))

    assert graph.inputs == (GraphTensor("x", "TYPE_FP32", (2, -1)),)
    assert graph.outputs == (GraphTensor("y", "TYPE_STRING", ()),)


@pytest.mark.parametrize(
    ("content", "cause"),
    [
        (b"", "no graph"),
        (b"<html>", "damaged or cut off"),
        (classifier()[:-30], "cut off"),
        (onnx_model([], []), "no output"),
        (onnx_model([], [tensor("y", 99, [1])]), "element type 99"),
        (onnx_model([], [tensor("y", INT64, None)]), "how many dimensions"),
        (onnx_model([], [field(1, b"y") + field(2, field(4, b""))]), "no tensor but"),
        (onnx_model([], [field(2, b"")]), "no name"),
        (onnx_model([], [field(1, b"\xff")]), "no UTF-8"),
    ],
)
def test_an_onnx_file_that_cannot_be_read_is_refused_with_the_cause(content: bytes, cause: str) -> None:
    with pytest.raises(ConfigUnparsable, match=cause):
        graph_of(content)


@given(st.binary(max_size=400), st.integers(0, 400), st.integers(0, 400))
def test_any_bytes_are_an_onnx_graph_or_refused(noise: bytes, at: int, kept: int) -> None:
    whole = classifier()
    content = whole[:at] + noise + whole[at : at + kept]

    try:
        graph = graph_of(content)
    except ConfigUnparsable as refused:
        assert refused.message  # noqa: PT017 - either end is right, a third is not
    else:
        assert graph.outputs


@given(st.text(max_size=300), st.integers(0, 200))
def test_any_text_is_a_configuration_or_refused_with_a_place(noise: str, at: int) -> None:
    text = CONFIG[:at] + noise + CONFIG[at:]

    try:
        config = FORMAT.parse(text)
    except ConfigUnparsable as refused:
        assert refused.facts  # noqa: PT017 - either end is right, a third is not
    else:
        assert FORMAT.parse(FORMAT.render(config.document)) == config


names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20)
paths = st.lists(st.one_of(names, st.sampled_from(["..", ".", "", "1", "demo", "C:", "\\"])), min_size=1, max_size=5)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=60)
@given(st.lists(paths, max_size=6), st.sampled_from([zipped, tarred, plain_tar, zstd]))
def test_whatever_names_an_archive_holds_nothing_is_written_outside(
    tmp_path_factory: pytest.TempPathFactory, given_paths: list[list[str]], pack: Callable[[list[Entry]], bytes]
) -> None:
    home = tmp_path_factory.mktemp("fuzz")
    inside = home / "inside"
    inside.mkdir()
    entries: list[Entry] = [*good(), *(("/".join(parts), "x") for parts in given_paths)]

    try:
        checked = check(pack(entries), inside)
    except (refusals.Refused, ConfigUnparsable) as refused:
        assert refused.message  # noqa: PT017 - either end is right, a third is not
    else:
        assert checked.files

    assert [path.name for path in home.iterdir()] == ["inside"]
