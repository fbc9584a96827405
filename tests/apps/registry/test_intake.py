"""What an upload may be, and each way in which it may not."""

import gzip
import io
import random
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from apps.common.errors import ControlPlaneError
from apps.registry import intake, refusals
from apps.registry.intake import Checked, Limits
from apps.serving.errors import ConfigUnparsable
from tests.apps.registry.conftest import files_under
from tests.factories.archives import (
    CONFIG,
    MODEL_PY,
    Entry,
    good,
    retarred,
    tar_member,
    tarred,
    zip_link,
    zip_pipe,
    zipped,
)

ROOMY = Limits(entries=1_000, unpacked_bytes=64 << 20)
TIGHT = Limits(entries=20, unpacked_bytes=1_100_000, ratio=1_000, free_bytes=200_000)


def check(
    content: bytes, directory: Path, *, model: str = "demo", number: int = 1, limits: Limits = ROOMY, **said: str
) -> Checked:
    archive, staging = directory / "upload", directory / "staging"
    archive.write_bytes(content)
    staging.mkdir()
    upload = intake.Upload(archive, **said)
    return intake.check(upload, staging, model=model, number=number, limits=limits, on_progress=lambda: None)


def bomb(entries: int, size_bytes: int) -> bytes:
    return zipped([*good(), *((f"demo/1/{n}.bin", bytes(size_bytes)) for n in range(entries))])


def dense() -> bytes:
    """A .tar.zst, which packs zeros ten times tighter than a .zip can."""
    tar = gzip.decompress(tarred([*good(), ("demo/1/weights.bin", bytes(900_000))]))
    return zstandard.ZstdCompressor(level=19).compress(tar)


def lying_zip() -> bytes:
    """Its directory says 10 bytes for an entry that holds 2 MiB."""
    content = bytearray(zipped([*good(), ("demo/1/weights.bin", bytes(2 << 20))]))
    at = content.rfind(b"PK\x01\x02")
    content[at + 24 : at + 28] = (10).to_bytes(4, "little")
    return bytes(content)


def encrypted_zip() -> bytes:
    content = bytearray(zipped(good()))
    content[content.find(b"PK\x01\x02") + 8] |= 1
    return bytes(content)


def bzip2_zip() -> bytes:
    kept = io.BytesIO()
    with zipfile.ZipFile(kept, "w", zipfile.ZIP_BZIP2) as archive:
        for name, content in good():
            archive.writestr(name, content)
    return kept.getvalue()


def huge_directory_zip() -> bytes:
    """Claims a directory of almost 4 GiB, which a library would read whole."""
    content = bytearray(zipped(good()))
    at = content.rfind(b"PK\x05\x06")
    content[at + 12 : at + 16] = (0xFFFF_FF00).to_bytes(4, "little")
    return bytes(content)


def huge_header_tar() -> bytes:
    """A long name's header that claims 1 GiB for the name."""
    member = tarfile.TarInfo("././@LongLink")
    member.type, member.size = tarfile.GNUTYPE_LONGNAME, 1 << 30
    return tarred([], member)


def config_with(text: str) -> list[tuple[str, str | bytes]]:
    return good(config=text)


REFUSED: list[tuple[type[ControlPlaneError], Callable[[], bytes], str]] = [
    (refusals.NotAnArchive, lambda: b"\x7fELF and so on", ".zip"),
    (refusals.NotAnArchive, lambda: retarred(tarred(good()), cut_at=100), "no tar archive"),
    (refusals.ArchiveCorrupt, lambda: zipped(good())[:-30], "cut off"),
    (refusals.ArchiveCorrupt, lambda: tarred(good())[:-20], "cut off"),
    (refusals.ArchiveCorrupt, lambda: tarred(good())[:-8] + bytes(8), "damaged"),
    (refusals.ArchiveCorrupt, lambda: retarred(tarred(good()), flip_at=1_024), "closing block"),
    (refusals.ArchiveCorrupt, lambda: retarred(tarred(good()), cut_at=1_024 + 200), "closing block"),
    (refusals.ArchiveCorrupt, lambda: retarred(tarred(good()), cut_at=2_048), "closing block"),
    (refusals.ArchiveCorrupt, huge_header_tar, "impossible length"),
    (refusals.ArchiveCorrupt, lying_zip, "weights.bin"),
    (refusals.ArchiveEncrypted, encrypted_zip, "config.pbtxt"),
    (refusals.CompressionUnknown, bzip2_zip, "config.pbtxt"),
    (refusals.PathLeavesArchive, lambda: zipped([*good(), ("demo/1/../../../evil", "x")]), "../../../evil"),
    (refusals.PathLeavesArchive, lambda: tarred([*good(), ("../evil", "x")]), "../evil"),
    (refusals.PathAbsolute, lambda: zipped([*good(), ("/evil", "x")]), "/evil"),
    (refusals.PathAbsolute, lambda: tarred([*good(), ("/evil", "x")]), "/evil"),
    (refusals.PathAbsolute, lambda: zipped([*good(), ("C:/evil", "x")]), "C:/evil"),
    (refusals.PathBackslash, lambda: zipped([*good(), ("demo\\..\\evil", "x")]), "evil"),
    (refusals.PathControlCharacters, lambda: zipped([*good(), ("demo/1/a\nb\x1b[31m", "x")]), "demo/1/a"),
    (refusals.PathControlCharacters, lambda: zipped([*good(), ("demo/1/a\x00b", "x")]), "demo/1/a"),
    (refusals.PathControlCharacters, lambda: zipped([*good(), ("demo/1/\u202egnp.py", "x")]), "gnp.py"),
    (refusals.PathTooLong, lambda: zipped([*good(), (f"demo/1/{'n' * 256}", "x")]), "demo/1/nnn"),
    (refusals.PathTooLong, lambda: zipped([*good(), ("demo/1/" + "d/" * 40 + "x", "x")]), "d/d/d"),
    (refusals.PathNotUtf8, lambda: tarred([*good(), ("demo/1/\udcff", "x")]), "demo/1/"),
    (refusals.PathTwice, lambda: zipped([*good(), ("demo/1/model.py", "other")]), "demo/1/model.py"),
    (refusals.PathTwice, lambda: tarred([*good(), ("./demo/1/model.py", "other")]), "demo/1/model.py"),
    (refusals.PathsCollide, lambda: zipped([*good(), ("demo/1/Model.py", "other")]), "demo/1/model.py"),
    (refusals.PathsCollide, lambda: zipped([*good(), ("DEMO/1/other.py", "other")]), "'DEMO'"),
    (refusals.PathsCollide, lambda: zipped([*good(), ("demo/1/é", "1"), ("demo/1/e\u0301", "2")]), "differ in case"),
    (refusals.FileAndDirectory, lambda: zipped([*good(), ("demo/1", "x")]), "demo/1"),
    (refusals.FileAndDirectory, lambda: zipped([("demo/1", "x"), *good()]), "demo/1"),
    (refusals.LinkInArchive, lambda: zip_link("demo/1/weights.bin", "/etc/hostname"), "demo/1/weights.bin"),
    (refusals.LinkInArchive, lambda: tarred(good(), tar_member("demo/1/w", tarfile.SYMTYPE, "/etc")), "demo/1/w"),
    (refusals.LinkInArchive, lambda: tarred(good(), tar_member("demo/1/w", tarfile.LNKTYPE, "x")), "demo/1/w"),
    (refusals.DeviceInArchive, lambda: zip_pipe("demo/1/pipe"), "demo/1/pipe"),
    (refusals.DeviceInArchive, lambda: tarred(good(), tar_member("demo/1/zero", tarfile.CHRTYPE)), "demo/1/zero"),
    (refusals.DeviceInArchive, lambda: tarred(good(), tar_member("demo/1/pipe", tarfile.FIFOTYPE)), "demo/1/pipe"),
    (refusals.TooManyEntries, lambda: bomb(20, 0), "20 entries"),
    (refusals.TooManyEntries, huge_directory_zip, "20 entries"),
    (refusals.UnpackedTooLarge, lambda: bomb(3, 400 << 10), "1,100,000 bytes"),
    (refusals.UnpackedTooLarge, lambda: tarred([*good(), ("demo/1/w", bytes(2 << 20))]), "1,100,000 bytes"),
    (refusals.RatioTooHigh, dense, "bytes come out of an archive of"),
    (refusals.ConfigMissing, lambda: zipped([("demo/1/weights.bin", "x")]), "config.pbtxt"),
    (refusals.ConfigMissing, lambda: zipped([]), "config.pbtxt"),
    (refusals.ModelTooDeep, lambda: zipped(good(top="a/b/c/d/e/demo/")), "a/b/c/d/e/demo/config.pbtxt"),
    (refusals.SeveralModels, lambda: zipped([*good(top="a/"), *good(top="b/")]), "'a' and 'b'"),
    (refusals.StrayEntry, lambda: zipped([*good(), ("README.md", "x")]), "README.md"),
    (refusals.VersionDirectoryMissing, lambda: zipped([("config.pbtxt", CONFIG), ("a.bin", "x")]), "a.bin"),
    (refusals.NestedArchive, lambda: zipped([("demo/model.zip", zipped(good()))]), "demo/model.zip"),
    (refusals.ConfigNeeded, lambda: zipped([("demo/model.pt", "x")]), "model.pt"),
    (refusals.ConfigNeeded, lambda: zipped([("demo/1/model.py", MODEL_PY)]), "model.py"),
    (refusals.SeveralVersions, lambda: zipped([*good(), ("demo/2/model.py", "x")]), "1, 2"),
    (refusals.VersionLookAlike, lambda: zipped([*good(), ("demo/2", "a file")]), "'2'"),
    (refusals.VersionEmpty, lambda: zipped([("demo/config.pbtxt", CONFIG), ("demo/1/", "")]), "1/"),
    (refusals.ModelFileMissing, lambda: zipped([("config.pbtxt", CONFIG), ("1/weights.bin", "x")]), "1/model.py"),
    (
        refusals.ModelFileMissing,
        lambda: zipped(config_with(CONFIG + 'default_model_filename: "main.py"')),
        "1/main.py",
    ),
    (
        refusals.ModelFileMissing,
        lambda: zipped(config_with(CONFIG.replace("python", "onnxruntime"))),
        "1/model.onnx",
    ),
    (refusals.ConfigTooLarge, lambda: zipped(config_with(CONFIG + "#" * (1 << 20))), "1,048,576"),
    (refusals.ConfigNotUtf8, lambda: zipped([("1/model.py", "x"), ("config.pbtxt", b"name: '\xff'")]), "UTF-8"),
    (refusals.ConfigNotUtf8, lambda: zipped(config_with(CONFIG + "# \x00")), "NUL"),
    (
        refusals.ConfigNotUtf8,
        lambda: zipped(config_with(CONFIG + 'parameters { key: "a" value { string_value: "\\000" } }')),
        "NUL",
    ),
    (refusals.TemplateUnfilled, lambda: zipped(config_with(CONFIG.replace("8", "${batch}"))), "line 3"),
    (refusals.TemplateUnfilled, lambda: zipped(config_with(CONFIG.replace("8", "MAX_BATCH"))), "MAX_BATCH"),
    (refusals.TemplateUnfilled, lambda: zipped(config_with(CONFIG.replace("TYPE_FP32", "TYPE_#DTYPE"))), "TYPE_#DTYPE"),
    (refusals.NameMismatch, lambda: zipped(config_with(CONFIG.replace("demo", "Demo"))), "'Demo'"),
    (refusals.NameMismatch, lambda: zipped(config_with(CONFIG.replace("demo", " demo"))), "' demo'"),
    (
        refusals.RulesBroken,
        lambda: zipped(config_with(CONFIG + "dynamic_batching { preferred_batch_size: [ 9, 10 ] }")),
        "dynamic_batching.preferred_batch_size holds 9, and max_batch_size is 8 (and 1 more)",
    ),
    (refusals.RulesBroken, lambda: zipped([("config.pbtxt", CONFIG), ("1/model.py", "x = 1")]), "TritonPythonModel"),
    (ConfigUnparsable, lambda: zipped(config_with(CONFIG + "bogus: 1")), "line 6"),
    (ConfigUnparsable, lambda: zipped(config_with(CONFIG.replace("TYPE_FP32", "TYPE_FP33"))), "line 4"),
]


@pytest.mark.parametrize(("refusal", "make", "names"), REFUSED)
def test_a_bad_upload_is_refused_by_class_and_named(
    refusal: type[ControlPlaneError], make: Callable[[], bytes], names: str, tmp_path: Path
) -> None:
    content = make()

    with pytest.raises(ControlPlaneError) as refused:
        check(content, tmp_path, limits=TIGHT)

    assert (type(refused.value), names in refused.value.message) == (refusal, True), refused.value.message


def test_every_refusal_has_a_case_a_code_of_its_own_and_a_way_out() -> None:
    every: list[type[ControlPlaneError]] = [
        kind for kind in vars(refusals).values() if isinstance(kind, type) and issubclass(kind, refusals.Refused)
    ]
    bases: set[type[ControlPlaneError]] = {refusals.Refused, refusals.RefusedEntry}
    raised = set(every) - bases

    assert raised == {kind for kind, _, _ in REFUSED} - {ConfigUnparsable}
    assert len({kind.code for kind in raised}) == len(raised)
    assert {kind.title for kind in raised}.isdisjoint({"", refusals.Refused.title})


LOOK_ALIKES = ["01", "2.tmp", "2_bak", "3 copy", "+4", "-1", "1e3", ".5", "0", str(2**63), "\u0661", "v1", "1.0"]


@pytest.mark.parametrize("name", LOOK_ALIKES)
def test_a_directory_a_server_would_misread_as_a_version_is_refused_by_name(name: str, tmp_path: Path) -> None:
    content = zipped([*good(), (f"demo/{name}/model.py", MODEL_PY)])

    with pytest.raises(refusals.VersionLookAlike, match=name.replace("+", r"\+")):
        check(content, tmp_path)


@pytest.mark.parametrize("pack", [zipped, tarred])
@pytest.mark.parametrize("top", ["demo/", "", "./demo/", "other/"])
@pytest.mark.parametrize("version", ["1", "7", str(2**63 - 1)])
def test_a_model_directory_passes_packed_either_way_with_or_without_its_folder(
    pack: Callable[[list[tuple[str, str | bytes]]], bytes], top: str, version: str, tmp_path: Path
) -> None:
    content = pack(good(top=top, version=version))

    checked = check(content, tmp_path)

    assert files_under(checked.directory) == ["config.pbtxt", "version/model.py"]
    assert [line["path"] for line in checked.files] == ["config.pbtxt", "version/model.py"]
    assert checked.config_text == CONFIG


def test_what_lies_beside_the_version_is_shared_by_all_versions(tmp_path: Path) -> None:
    content = zipped([*good(), ("demo/labels.txt", "a"), ("demo/tokenizer/vocab.json", "{}")])

    checked = check(content, tmp_path)

    assert files_under(checked.directory / "shared") == ["labels.txt", "tokenizer/vocab.json"]
    assert checked.remarks == (
        "Shared by all versions of the model, as it lies beside the version: labels.txt, tokenizer.",
    )


def test_junk_is_dropped_and_said_so(tmp_path: Path) -> None:
    junk = ["__MACOSX/demo/._config.pbtxt", "demo/.DS_Store", "demo/1/__pycache__/model.cpython-311.pyc"]
    content = zipped([*good(), *((name, "x") for name in junk)])

    checked = check(content, tmp_path)

    assert files_under(checked.directory) == ["config.pbtxt", "version/model.py"]
    assert checked.remarks == (f"Left out, as no server needs them: {', '.join(junk)} (3 in all).",)


def test_what_differs_harmlessly_is_remarked(tmp_path: Path) -> None:
    config = CONFIG + "version_policy { latest { num_versions: 2 } }"

    checked = check(zipped(good(config, top="my-export/", version="3")), tmp_path, number=9)

    told = " ".join(checked.remarks)
    assert ("version_policy" in told, "'my-export'" in told, "directory is 3" in told) == (True, True, True)


def test_a_configuration_without_a_name_passes(tmp_path: Path) -> None:
    checked = check(zipped(good(CONFIG.replace('name: "demo"\n', ""))), tmp_path)

    assert checked.config.name == ""


def test_an_ensemble_may_have_an_empty_version_directory(tmp_path: Path) -> None:
    config = """\
platform: "ensemble"
input [ { name: "x" data_type: TYPE_FP32 dims: [ 4 ] } ]
output [ { name: "y" data_type: TYPE_FP32 dims: [ 4 ] } ]
ensemble_scheduling { step [ { model_name: "a" model_version: -1
  input_map { key: "x" value: "x" } output_map { key: "y" value: "y" } } ] }
"""
    checked = check(zipped([("config.pbtxt", config), ("1/", "")]), tmp_path)

    assert (checked.config.members, (checked.directory / "version").is_dir()) == (("a",), True)


@pytest.mark.parametrize(
    "line",
    [
        'parameters { key: "e" value { string_value: "$$TRITON_MODEL_DIRECTORY/${x}" } }',
        "# fill in ${nothing} and {{ nothing }}",
        "instance_group [ { kind: KIND_CPU count: 1 } ]",
    ],
)
def test_what_only_looks_like_a_placeholder_passes(line: str, tmp_path: Path) -> None:
    checked = check(zipped(good(CONFIG + line)), tmp_path)

    assert checked.config.name == "demo"


@pytest.mark.parametrize("placeholder", ["{{ batch }}", "$batch", "@BATCH@", "{% if x %}", "<% batch %>"])
def test_a_placeholder_is_named_with_its_line(placeholder: str, tmp_path: Path) -> None:
    config = CONFIG.replace("max_batch_size: 8", f"max_batch_size: {placeholder}")

    with pytest.raises(refusals.TemplateUnfilled) as refused:
        check(zipped(good(config)), tmp_path)

    assert (refused.value.facts["line"], repr(placeholder) in refused.value.message) == (3, True)


def test_a_file_of_zeros_is_no_bomb(tmp_path: Path) -> None:
    weights = bytes(2 << 20)

    checked = check(zipped([*good(), ("demo/1/weights.bin", weights)]), tmp_path)

    assert checked.unpacked_bytes == len(weights) + len(CONFIG) + len(MODEL_PY)


@pytest.mark.parametrize("pack", [zipped, tarred])
def test_far_more_than_was_sent_is_a_bomb_and_leaves_no_more_than_is_free(
    pack: Callable[[list[Entry]], bytes], tmp_path: Path
) -> None:
    content = pack([*good(), ("demo/1/weights.bin", bytes(8 << 20))])
    limits = Limits(entries=100, unpacked_bytes=64 << 20, ratio=200, free_bytes=3 << 20)

    with pytest.raises(refusals.RatioTooHigh, match="3,145,728 bytes") as refused:
        check(content, tmp_path, limits=limits)

    assert refused.value.facts["limit"] == 200
    assert sum(file.stat().st_size for file in (tmp_path / "staging").rglob("*.bin")) <= 3 << 20


def test_zeros_among_real_weights_are_no_bomb(tmp_path: Path) -> None:
    real = random.Random(7).randbytes(100_000)
    content = zipped([*good(), ("demo/1/real.bin", real), ("demo/1/zeros.bin", bytes(8 << 20))])
    limits = Limits(entries=100, unpacked_bytes=64 << 20, ratio=200, free_bytes=1 << 20)

    assert check(content, tmp_path, limits=limits).unpacked_bytes > 8 << 20


def test_without_a_ratio_only_the_total_counts() -> None:
    assert Limits(entries=1, unpacked_bytes=1 << 40).of(1) == 1 << 40
    assert Limits(entries=1, unpacked_bytes=1 << 40, ratio=200).of(1) == 100 << 20
    assert Limits(entries=1, unpacked_bytes=1 << 40, ratio=200).of(1 << 30) == 200 << 30


@pytest.mark.parametrize("pack", [zipped, tarred])
@pytest.mark.parametrize("seed", range(40))
def test_damaged_bytes_end_in_a_named_refusal_or_pass_and_never_otherwise(
    pack: Callable[[list[tuple[str, str | bytes]]], bytes], seed: int, tmp_path: Path
) -> None:
    dice = random.Random(seed)
    content = bytearray(pack([*good(), ("demo/1/weights.bin", dice.randbytes(3_000))]))
    for _ in range(dice.randint(1, 12)):
        content[dice.randrange(len(content))] = dice.randrange(256)

    try:
        checked = check(bytes(content), tmp_path)
    except (refusals.Refused, ConfigUnparsable) as refused:
        assert refused.message  # noqa: PT017 - either end is right, a third is not
    else:
        assert checked.files


@pytest.mark.parametrize("pack", [zipped, tarred])
def test_an_archive_cut_anywhere_is_refused(
    pack: Callable[[list[tuple[str, str | bytes]]], bytes], tmp_path: Path
) -> None:
    content = pack(good())
    accepted = []

    for kept in range(0, len(content), 7):
        (tmp_path / str(kept)).mkdir()
        try:
            accepted.append(check(content[:kept], tmp_path / str(kept)))
        except refusals.Refused:
            continue

    assert accepted == []
