"""Model versions of an MLflow registry, over its REST API: one archive, or a folder of files packed on the way.

MLflow keeps a model as a folder. If an archive is all there is in it besides MLflow's own files, that is taken as
it is; else the folder is packed as an uncompressed .zip, always the same for the same files: it has one SHA-256.
"""

import zipfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, Request, build_opener

from apps.common.reading import read_json
from apps.common.receiving import TooSlow, receive
from apps.common.text import printable
from apps.registry.sources import bucket
from apps.registry.sources.errors import SourceMissing, SourceRefused, SourceUnreachable
from apps.registry.sources.opened import Opened, Position
from apps.registry.sources.policy import Policy
from apps.registry.sources.references import Kind, Reference

# Until it says something, and until it has said all: the first begins anew with each byte.
TIMEOUT_S, ANSWER_S = 30.0, 30.0
READ_BYTES = 1 << 20
MAX_ANSWER_BYTES = 8 << 20
MAX_FILES, MAX_DEPTH = 10_000, 16
ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.zst")
# What MLflow lays beside a model for its own loaders.
OWN = frozenset(
    {
        "MLmodel",
        "conda.yaml",
        "python_env.yaml",
        "requirements.txt",
        "registered_model_meta",
        "input_example.json",
        "serving_input_example.json",
    }
)
Open = Callable[[], AbstractContextManager[Iterator[bytes]]]


@dataclass(frozen=True, slots=True)
class _File:
    """One file of a model: its path in the folder, its size, and how to read it."""

    path: str
    size_bytes: int
    open: Open


class _NoRedirects(HTTPRedirectHandler):
    """The token is for the tracking server alone."""

    def redirect_request(self, *_: Any) -> None:
        """An error instead."""


@dataclass(frozen=True, slots=True)
class Mlflow:
    """The tracking server that the settings name."""

    policy: Policy

    @contextmanager
    def opened(self, reference: Reference) -> Iterator[Opened]:
        """The model version's archive, or its files packed."""
        files = [file for file in self._files(reference) if file.path.rpartition("/")[2] not in OWN]
        if not files:
            raise SourceMissing(f"{reference.shown}: the model version has no files")
        archives = [file for file in files if file.path.lower().endswith(ARCHIVES)]
        if len(files) == len(archives) == 1:
            with archives[0].open() as pieces:
                yield Opened(archives[0].path.rpartition("/")[2], archives[0].size_bytes, "", 0, pieces)
        else:
            yield Opened(f"{reference.place}-{reference.path}.zip", None, "", 0, _packed(files))

    def _files(self, reference: Reference) -> list[_File]:
        where = self._where(reference)
        parts = urlsplit(where)
        if parts.scheme == "s3":
            return self._in_bucket(parts.netloc, parts.path.strip("/"), reference)
        if parts.scheme == "mlflow-artifacts":
            return list(self._proxied(parts.path.strip("/"), reference))
        raise SourceRefused(
            f"{reference.shown}: its files are at {printable(where, limit=200)}, which Conch does not read",
            hint="Conch reads s3:// and mlflow-artifacts:/ locations.",
        )

    def _where(self, reference: Reference) -> str:
        query = urlencode({"name": reference.place, "version": reference.path})
        told = self._json(f"/api/2.0/mlflow/model-versions/get-download-uri?{query}", reference)
        return str(told.get("artifact_uri", ""))

    def _in_bucket(self, name: str, prefix: str, reference: Reference) -> list[_File]:
        self.policy.require_allowed(Reference(Kind.S3, name, f"{prefix}/", f"s3://{name}/{prefix}"))
        found = bucket.listing(name, prefix)
        _require_few(len(found), reference)
        return [_File(path, size, _in_bucket(name, f"{prefix}/{path}")) for path, size in sorted(found.items())]

    def _proxied(self, path: str, reference: Reference, depth: int = 0) -> Iterator[_File]:
        """Walk the folder; the server lists one level at a time."""
        if depth > MAX_DEPTH:
            raise SourceRefused(f"{reference.shown}: its folders are more than {MAX_DEPTH} deep")
        query = urlencode({"path": path})
        entries = self._json(f"/api/2.0/mlflow-artifacts/artifacts?{query}", reference).get("files", [])
        _require_few(len(entries), reference)
        for entry in sorted(entries, key=lambda one: str(one.get("path"))):
            name = str(entry.get("path", "")).rpartition("/")[2]
            inner = f"{path}/{name}"
            if entry.get("is_dir"):
                for file in self._proxied(inner, reference, depth + 1):
                    yield _File(f"{name}/{file.path}", file.size_bytes, file.open)
            else:
                yield _File(name, int(entry.get("file_size") or 0), self._download(inner, reference))

    def _download(self, path: str, reference: Reference) -> Open:
        @contextmanager
        def opening() -> Iterator[Iterator[bytes]]:
            with self._asked(f"/api/2.0/mlflow-artifacts/artifacts/{quote(path)}", reference) as answer:
                yield iter(lambda: _read(answer, reference), b"")

        return opening

    def _json(self, path: str, reference: Reference) -> dict[str, Any]:
        with self._asked(path, reference) as answer:
            try:
                told = read_json(receive(answer.read1, within_s=ANSWER_S, most_bytes=MAX_ANSWER_BYTES))
            except TooSlow as error:
                raise SourceUnreachable(f"{reference.shown}: the tracking server's answer does not end") from error
            except (ValueError, OSError, HTTPException) as error:
                raise SourceUnreachable(f"{reference.shown}: the tracking server's answer is not JSON") from error
        return told if isinstance(told, dict) else {}

    def _asked(self, path: str, reference: Reference) -> Any:
        headers = {"Authorization": f"Bearer {self.policy.mlflow_token}"} if self.policy.mlflow_token else {}
        request = Request(self.policy.mlflow_url.rstrip("/") + path, headers=headers)  # noqa: S310 - an admin's setting
        opener: OpenerDirector = build_opener(_NoRedirects)
        try:
            return opener.open(request, timeout=TIMEOUT_S)
        except HTTPError as error:
            with error:
                raise _refusal(error, reference) from error
        except (OSError, HTTPException, ValueError) as error:
            said = printable(str(getattr(error, "reason", error)), limit=200)
            raise SourceUnreachable(f"{reference.shown}: the tracking server: {said}") from error


def _refusal(error: HTTPError, reference: Reference) -> Exception:
    said = f"{reference.shown}: the tracking server answers {error.code} {printable(str(error.reason), limit=80)}"
    if error.code == 404:  # noqa: PLR2004
        return SourceMissing(said)
    if error.code >= 500 or error.code == 429:  # noqa: PLR2004
        return SourceUnreachable(said)
    return SourceRefused(said, hint="Check CONCH_MLFLOW_URL and CONCH_MLFLOW_TOKEN.")


def _require_few(count: int, reference: Reference) -> None:
    if count > MAX_FILES:
        raise SourceRefused(f"{reference.shown}: it has more than {MAX_FILES:,} files")


def _in_bucket(name: str, key: str) -> Open:
    @contextmanager
    def opening() -> Iterator[Iterator[bytes]]:
        with bucket.opened(name, key, Position()) as found:
            yield found.pieces

    return opening


def _read(answer: Any, reference: Reference) -> bytes:
    try:
        return bytes(answer.read(READ_BYTES))
    except (OSError, HTTPException) as error:
        raise SourceUnreachable(f"{reference.shown}: it broke off: {printable(str(error), limit=200)}") from error


class _Tape:
    """A file for `zipfile` that only goes forward; what was written is taken away piece by piece."""

    def __init__(self) -> None:
        self._written: list[bytes] = []

    def write(self, data: bytes) -> int:
        """Another piece."""
        self._written.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """Nothing is held back."""

    def take(self) -> bytes:
        """What was written since the last time."""
        found, self._written = b"".join(self._written), []
        return found


def _packed(files: list[_File]) -> Iterator[bytes]:
    tape = _Tape()
    with zipfile.ZipFile(tape, "w", zipfile.ZIP_STORED) as archive:  # type: ignore[call-overload]
        for file in sorted(files, key=lambda one: one.path):
            info = zipfile.ZipInfo(file.path)
            info.external_attr = 0o644 << 16
            with archive.open(info, "w", force_zip64=True) as entry, file.open() as pieces:
                for piece in pieces:
                    entry.write(piece)
                    yield tape.take()
            yield tape.take()
    yield tape.take()
