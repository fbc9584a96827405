"""Uploads built in code: good ones, and one for each way to be wrong."""

import gzip
import io
import subprocess
import tarfile
import warnings
import zipfile
from collections.abc import Iterable
from pathlib import Path
from stat import S_IFIFO, S_IFLNK, S_IFREG

from apps.registry.artifacts import Upload

CONFIG = """\
name: "demo"
backend: "python"
max_batch_size: 8
input [ { name: "x" data_type: TYPE_FP32 dims: [ 4 ] } ]
output [ { name: "y" data_type: TYPE_FP32 dims: [ 4 ] } ]
"""
MODEL_PY = "class TritonPythonModel:\n    def execute(self, requests):\n        return []\n"

Content = str | bytes
Entry = tuple[str, Content]


def good(config: str = CONFIG, top: str = "demo/", version: str = "1") -> list[Entry]:
    """The entries of a model directory that passes."""
    return [(f"{top}config.pbtxt", config), (f"{top}{version}/model.py", MODEL_PY)]


def zipped(entries: Iterable[Entry]) -> bytes:
    """A .zip of the entries, their names as given; a name that ends in '/' is a directory."""
    kept = io.BytesIO()
    with zipfile.ZipFile(kept, "w", zipfile.ZIP_DEFLATED) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the same name twice is what some tests want
        for name, content in entries:
            info = zipfile.ZipInfo("placeholder")
            info.filename = name
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = (S_IFREG | 0o644) << 16 if not name.endswith("/") else 0
            archive.writestr(info, content)
    return kept.getvalue()


def zipped_special(name: str, content: Content, *, mode: int) -> bytes:
    """A good .zip and one more entry of another kind than a file."""
    kept = io.BytesIO(zipped(good()))
    with zipfile.ZipFile(kept, "a") as archive:
        info = zipfile.ZipInfo(name)
        info.create_system = 3
        info.external_attr = (mode | 0o777) << 16
        archive.writestr(info, content)
    return kept.getvalue()


def zip_link(name: str, to: str) -> bytes:
    """A good .zip with a symbolic link."""
    return zipped_special(name, to, mode=S_IFLNK)


def zip_pipe(name: str) -> bytes:
    """A good .zip with a named pipe."""
    return zipped_special(name, "", mode=S_IFIFO)


def tarred(entries: Iterable[Entry], *members: tarfile.TarInfo) -> bytes:
    """A .tar.gz of the entries and of bare `members`."""
    kept = io.BytesIO()
    with tarfile.open(fileobj=kept, mode="w:gz", encoding="utf-8", errors="surrogateescape") as archive:
        for name, content in entries:
            raw = content.encode() if isinstance(content, str) else content
            member = tarfile.TarInfo(name.rstrip("/"))
            member.type = tarfile.DIRTYPE if name.endswith("/") else tarfile.REGTYPE
            member.size = len(raw)
            archive.addfile(member, io.BytesIO(raw))
        for member in members:
            archive.addfile(member)
    return kept.getvalue()


def tar_member(name: str, kind: bytes, to: str = "") -> tarfile.TarInfo:
    """A member of another kind than a file."""
    member = tarfile.TarInfo(name)
    member.type = kind
    member.linkname = to
    return member


def retarred(content: bytes, *, cut_at: int | None = None, flip_at: int | None = None) -> bytes:
    """A .tar.gz whose tar is cut or damaged while its .gz is whole."""
    tar = bytearray(gzip.decompress(content))[:cut_at]
    if flip_at is not None:
        tar[flip_at] ^= 0xFF
    return gzip.compress(bytes(tar))


def upload(content: bytes, filename: str = "demo.zip", *, piece_bytes: int = 1 << 16) -> Upload:
    """The bytes as they come in, piece by piece."""
    pieces = (content[start : start + piece_bytes] for start in range(0, len(content), piece_bytes))
    return Upload(filename, pieces, len(content))


def tar_record(name: str, value: str) -> bytes:
    """One extended record of a tar: `length name=value`."""
    rest = f" {name}={value}\n".encode()
    length = len(rest)
    while len(str(length)) + len(rest) != length:
        length = len(str(length)) + len(rest)
    return str(length).encode() + rest


def tar_after(records: bytes, *, times: int = 1, name: str = "demo/1/w", size_bytes: int = 0) -> bytes:
    """A .tar.gz that begins with extended records, then an entry that claims a size, then what is good."""
    extended = tarfile.TarInfo("records")
    extended.type, extended.size = tarfile.XHDTYPE, len(records)
    head = extended.tobuf(tarfile.USTAR_FORMAT) + records + bytes(-len(records) % tarfile.BLOCKSIZE)
    entry = tarfile.TarInfo(name)
    entry.size = size_bytes
    return gzip.compress(head * times + entry.tobuf(tarfile.USTAR_FORMAT) + gzip.decompress(tarred(good())))


def streamed(entries: Iterable[Entry]) -> bytes:
    """A .zip written to a pipe: sizes stand behind each entry, none before it."""

    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

    kept = Pipe()
    with zipfile.ZipFile(kept, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries:
            archive.writestr(name, content)
    return kept.getvalue()


def gnu_tar(folder: Path, entries: Iterable[Entry], *options: str) -> bytes:
    """What the tar of this machine packs, with these options."""
    for name, content in entries:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
    packed = subprocess.run(["tar", "-c", *options, "-C", str(folder), "demo"], check=True, capture_output=True)
    return packed.stdout
