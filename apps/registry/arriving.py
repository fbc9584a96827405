"""Files of a form on their way in: straight to disk, never past the limit, hashed on the way."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.core.files.uploadhandler import TemporaryFileUploadHandler
from django.http import HttpRequest

from apps.common.errors import ControlPlaneError
from apps.common.hashing import Sha256
from apps.registry.artifacts import STORE
from apps.registry.errors import UploadTooLarge
from apps.registry.services import Landed, Upload, room_for

CHUNK_BYTES = 2**20
# Room for the other fields of a multipart body.
FIELDS_BYTES = 2**20


class ReceivingHandler(TemporaryFileUploadHandler):
    """Writes files to disk as they come in, and keeps each one's SHA-256 with it."""

    chunk_size = CHUNK_BYTES

    def __init__(self, request: HttpRequest, *, limit_bytes: int) -> None:
        super().__init__(request)
        # On the artifacts' own file system: a large upload must not fill the one of /tmp.
        Path(settings.FILE_UPLOAD_TEMP_DIR).mkdir(parents=True, exist_ok=True)
        self._limit_bytes = limit_bytes
        self._sha256 = Sha256()
        self._received_bytes = 0
        self._announced_bytes = 0

    def handle_raw_input(
        self,
        input_data: Any,
        META: Any,  # noqa: N803 - as Django names it
        content_length: int,
        boundary: Any,
        encoding: str | None = None,
    ) -> None:
        """What the whole form was announced with."""
        self._announced_bytes = content_length

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        """Begin the next file, as large as it may become: so it counts among what is on its way in.

        Counted first and asked then: of two that do so at once, neither is promised what the other has.
        """
        self._sha256 = Sha256()
        super().new_file(*args, **kwargs)
        self._cut(max(0, self._announced_bytes - self._received_bytes))
        try:
            with room_for(0):
                pass
        except ControlPlaneError:
            self.upload_interrupted()
            raise

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        """Write on, or stop at the limit."""
        self._received_bytes += len(raw_data)
        if self._received_bytes > self._limit_bytes:
            self.upload_interrupted()
            raise too_large(self._limit_bytes)
        self._sha256.update(raw_data)
        with STORE.faults(Path(settings.FILE_UPLOAD_TEMP_DIR), doing="receiving an upload"):
            try:
                super().receive_data_chunk(raw_data, start)
            except OSError:
                self.upload_interrupted()
                raise

    def file_complete(self, file_size: int) -> UploadedFile[bytes] | None:
        """The file, carrying its digest, and no larger than what came."""
        self._cut(file_size)
        file: Any = super().file_complete(file_size)
        if file is not None:
            file.sha256 = self._sha256.hexdigest()
        return file  # type: ignore[no-any-return]

    def _cut(self, size_bytes: int) -> None:
        with STORE.faults(Path(settings.FILE_UPLOAD_TEMP_DIR), doing="receiving an upload"):
            self.file.flush()
            os.truncate(self.file.temporary_file_path(), size_bytes)


def announced_bytes(request: HttpRequest, *, limit_bytes: int, fields_bytes: int = FIELDS_BYTES) -> int:
    """What the whole form is announced with; UploadTooLarge before a byte of it is received."""
    announced = int(request.headers.get("Content-Length") or 0)
    if announced > limit_bytes + fields_bytes:
        raise too_large(limit_bytes)
    return announced


def too_large(limit_bytes: int) -> UploadTooLarge:
    """The refusal of an upload over the limit."""
    return UploadTooLarge(f"the upload has more than {limit_bytes:,} bytes", field="file", limit_bytes=limit_bytes)


def as_upload(file: UploadedFile[bytes]) -> Upload:
    """The file as services take it; what the handler wrote and hashed is neither copied nor read again."""
    digest = str(getattr(file, "sha256", ""))
    landed = Landed(Path(file.temporary_file_path()), digest) if digest else None  # type: ignore[attr-defined]
    return Upload(str(file.name), file.chunks(), file.size, landed)


def digest_of(file: UploadedFile[bytes]) -> str:
    """The file's SHA-256: as received, else read now."""
    known = str(getattr(file, "sha256", ""))
    return known or _read_through(file)


def _read_through(file: UploadedFile[bytes]) -> str:
    sha256 = hashlib.sha256()
    for chunk in file.chunks(CHUNK_BYTES):
        sha256.update(chunk)
    file.seek(0)
    return sha256.hexdigest()
