"""Hostile and broken archives, each with the refusal it gets and what that names."""

import gzip
import io
import re
import struct
import tarfile
import zipfile
from collections.abc import Callable

import zstandard

from apps.common.errors import ControlPlaneError
from apps.registry import refusals
from apps.serving.errors import ConfigUnparsable
from tests.factories.archives import (
    CONFIG,
    MODEL_PY,
    good,
    retarred,
    tar_after,
    tar_member,
    tar_record,
    tarred,
    zip_link,
    zip_pipe,
    zipped,
)


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


def sparse(*records: tuple[str, str]) -> bytes:
    """A file with holes, as newer tars tell of them."""
    return tar_after(b"".join(tar_record(f"GNU.sparse.{name}", value) for name, value in records), size_bytes=1 << 30)


def endless_list_of_holes() -> bytes:
    """A list that is read whole before the file: 1.2 MiB of it here, as many as come out of the packing elsewhere."""
    told = tar_record("GNU.sparse.major", "1") + tar_record("GNU.sparse.minor", "0")
    tar = gzip.decompress(tar_after(told, size_bytes=4 << 20))[: 3 * tarfile.BLOCKSIZE]
    return gzip.compress(tar + b"900000000\n" + b"1\n" * (600 << 10))


def endless_map_of_holes() -> bytes:
    """The same as older tars tell it: a chain of blocks, each of which says that there is one more."""
    entry = tarfile.TarInfo("demo/1/w")
    entry.type = tarfile.GNUTYPE_SPARSE
    header = bytearray(entry.tobuf(tarfile.GNU_FORMAT))
    header[482] = 1
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return gzip.compress(bytes(header) + (bytes(504) + b"\1" + bytes(7)) * 4_096)


def wide_window() -> bytes:
    parameters = zstandard.ZstdCompressionParameters(window_log=27, enable_ldm=True)
    writer = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    return writer.compress(gzip.decompress(tarred(good()))) + writer.flush()


def zip64_with(directory_bytes: int) -> bytes:
    """A .zip whose 64-bit directory claims that size."""
    content = zipped(good())
    at = content.rfind(b"PK\x05\x06")
    record = struct.pack(
        "<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, 2, 2, directory_bytes, content.find(b"PK\x01\x02")
    )
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, at, 1)
    end = bytearray(content[at:])
    end[12:16] = b"\xff" * 4
    return content[:at] + record + locator + bytes(end)


def one_entry_under_two_names() -> bytes:
    """Two lines of the directory lead to the same bytes: they would come out twice."""
    content = bytearray(zipped([*good(), ("demo/1/one.bin", bytes(900)), ("demo/1/two.bin", bytes(900))]))
    lines = [found.start() for found in re.finditer(rb"PK\x01\x02", content)]
    content[lines[3] + 42 : lines[3] + 46] = content[lines[2] + 42 : lines[2] + 46]
    return bytes(content)


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
    (refusals.ArchiveCorrupt, one_entry_under_two_names, "two.bin"),
    (refusals.ArchiveCorrupt, lambda: tar_after(b"2 " * 1_000 + b"x="), "no records"),
    (refusals.ArchiveCorrupt, lambda: tar_after(tar_record("comment", "1" * 1_000)), "no records"),
    (refusals.ArchiveCorrupt, lambda: tar_after(tar_record("comment", "x")[:-1]), "no records"),
    (refusals.ArchiveCorrupt, lambda: tar_after(b"999 comment=x\n"), "no records"),
    (refusals.ArchiveCorrupt, lambda: tar_after(tar_record("comment", "x" * (2 << 20))), "before one entry"),
    (refusals.ArchiveCorrupt, lambda: tar_after(tar_record("comment", "x"), times=2_000), "recursion"),
    (refusals.ArchiveCorrupt, lambda: tar_after(tar_record("size", "99999999")), "damaged or cut off"),
    (refusals.ArchiveCorrupt, lambda: tar_after(tar_record("size", "-5")), "-5 bytes"),
    (refusals.ArchiveCorrupt, endless_list_of_holes, "before one entry"),
    (refusals.ArchiveCorrupt, endless_map_of_holes, "before one entry"),
    (refusals.WindowTooLarge, wide_window, "134,217,728 bytes of memory"),
    (refusals.PathLeavesArchive, lambda: tar_after(tar_record("path", "../../evil")), "../../evil"),
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
    (refusals.PathsCollide, lambda: zipped([*good(), ("demo/1/é", "1"), ("demo/1/e\u0301", "2")]), "in two ways"),
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
    (refusals.TooManyEntries, lambda: zip64_with(1 << 62), "20 entries"),
    (refusals.UnpackedTooLarge, lambda: bomb(3, 400 << 10), "1,100,000 bytes"),
    (refusals.UnpackedTooLarge, lambda: tarred([*good(), ("demo/1/w", bytes(2 << 20))]), "1,100,000 bytes"),
    (refusals.RatioTooHigh, lambda: sparse(("map", "0,0"), ("size", str(1 << 40))), "bytes come out of an archive of"),
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


LOOK_ALIKES = [
    "01",
    "2.tmp",
    "2_bak",
    "3 copy",
    "+4",
    "-1",
    "1e3",
    ".5",
    "0",
    str(2**63),
    "\u0661",
    "v1",
    "1.0",
    "2 ",
    "2.",
]
