"""The tus protocol, version 1.0.0, as HTTP spells it: headers in, headers out. https://tus.io/protocols/resumable-upload"""

import base64
import binascii
import hashlib
import re
from collections.abc import Iterator
from typing import Any, ClassVar

from django.conf import settings
from django.http import HttpRequest
from django.utils.http import http_date
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.doors import ApiView
from apps.api.errors import MediaTypeUnsupported
from apps.common.errors import ControlPlaneError, Invalid
from apps.registry import services
from apps.registry.services import Checksum

VERSION = "1.0.0"
MEDIA_TYPE = "application/offset+octet-stream"
EXTENSIONS = "creation,creation-with-upload,termination,expiration,checksum"
ALGORITHMS = ("sha256", "sha1", "md5")
READ_BYTES = 1 << 18
# A sender that says nothing for so long is let go; what it sent is kept.
SILENCE_S = 30.0
OVERRIDES = frozenset({"PATCH", "DELETE"})
_NUMBER = re.compile(r"[0-9]{1,18}")


class TusVersionUnsupported(ControlPlaneError):
    """The request is not of the protocol version that Conch speaks."""

    code = "tus_version_unsupported"
    http_status = 412
    title = "The tus version is not supported"
    hint = f"Send the header 'Tus-Resumable: {VERSION}'."


class TusHeaderInvalid(Invalid):
    """A header of the tus protocol is missing or malformed."""

    code = "tus_header_invalid"
    title = "A tus header is not valid"
    hint = "https://tus.io/protocols/resumable-upload says what it must look like."


class TusView(ApiView):
    """A view whose changes are tus requests; `GET` gives JSON to everybody."""

    http_method_names = ["get", "post", "patch", "delete", "head", "options"]
    speaks_tus: ClassVar[frozenset[str]] = frozenset({"POST", "PATCH", "DELETE", "HEAD"})

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """As the protocol demands: a POST may stand for methods that something on the way does not let through."""
        override = request.headers.get("X-HTTP-Method-Override", "").upper()
        if request.method == "POST" and override in OVERRIDES:
            request.method = override
        return super().dispatch(request, *args, **kwargs)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Refuse other versions of the protocol."""
        super().initial(request, *args, **kwargs)
        spoken = request.headers.get("Tus-Resumable", "none")
        if request.method in self.speaks_tus and spoken != VERSION:
            raise TusVersionUnsupported(f"Tus-Resumable is {spoken[:40]}, not {VERSION}")

    def body_limit_bytes(self) -> int:
        """The largest upload in one request."""
        return services.largest_upload()

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Response:
        """Every answer says what is spoken here, refusals too."""
        answer = super().finalize_response(request, response, *args, **kwargs)
        answer["Tus-Resumable"] = answer["Tus-Version"] = VERSION
        answer["Cache-Control"] = "no-store"
        return answer


def what_is_spoken(limit_bytes: int) -> dict[str, str]:
    """The answer to OPTIONS."""
    return {
        "Tus-Extension": EXTENSIONS,
        "Tus-Max-Size": str(limit_bytes),
        "Tus-Checksum-Algorithm": ",".join(ALGORITHMS),
    }


def progress_headers(upload: Any) -> dict[str, str]:
    """How far the upload is, until when it is kept, and the version it has become."""
    headers = {
        "Upload-Offset": str(upload.received_bytes),
        "Upload-Length": str(upload.size_bytes),
        "Upload-Expires": http_date(upload.expires_at.timestamp()),
    }
    return headers | ({"Conch-Version": str(upload.version.number)} if upload.version else {})


def number_in(request: Request, header: str) -> int:
    """The whole number in that header, or TusHeaderInvalid."""
    told = request.headers.get(header, "")
    if not _NUMBER.fullmatch(told):
        raise TusHeaderInvalid(f"{header} is {told[:40]!r}, not a whole number", field=header)
    return int(told)


def metadata_in(request: Request) -> dict[str, str]:
    """Upload-Metadata: names, each with its value in base64."""
    told = request.headers.get("Upload-Metadata", "").strip()
    pairs = (pair.strip().partition(" ") for pair in told.split(",")) if told else ()
    return {name: _decoded(name, value.strip()) for name, _, value in pairs}


def metadata_of(upload: Any) -> str:
    """The metadata as the sender gave it, for HEAD."""
    wanted = {name: value for name, value in upload.wanted.items() if name != "request_key"}
    told = {"model": upload.model.name, "sha256": upload.sha256, "fingerprint": upload.fingerprint, **wanted}
    return ",".join(
        f"{name} {base64.b64encode(str(value).encode()).decode()}"
        for name, value in told.items()
        if value not in {"", None}
    )


def _decoded(name: str, value: str) -> str:
    try:
        text = base64.b64decode(value, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError) as error:
        raise TusHeaderInvalid(
            f"Upload-Metadata: the value of {name[:40]!r} is not UTF-8 text in base64", field="Upload-Metadata"
        ) from error
    if "\x00" in text:
        raise TusHeaderInvalid(f"Upload-Metadata: {name[:40]!r} holds a NUL character", field="Upload-Metadata")
    return text


def checksum_in(request: Request) -> Checksum | None:
    """Upload-Checksum: an algorithm and the hash in base64; None when there is none."""
    told = request.headers.get("Upload-Checksum", "")
    if not told:
        return None
    algorithm, _, value = told.partition(" ")
    if algorithm not in ALGORITHMS:
        raise TusHeaderInvalid(
            f"Upload-Checksum: {algorithm[:40]!r} is not one of {', '.join(ALGORITHMS)}", field="Upload-Checksum"
        )
    try:
        expected = base64.b64decode(value.strip(), validate=True)
    except binascii.Error as error:
        raise TusHeaderInvalid("Upload-Checksum: the hash is not base64", field="Upload-Checksum") from error
    if len(expected) != hashlib.new(algorithm, usedforsecurity=False).digest_size:
        raise TusHeaderInvalid(f"Upload-Checksum: this is no {algorithm}", field="Upload-Checksum")
    return Checksum(algorithm, expected)


def has_bytes(request: Request) -> bool:
    """Whether the request says that its body is a part of the file."""
    return str(request.content_type or "").partition(";")[0].strip() == MEDIA_TYPE


def require_bytes(request: Request) -> None:
    """MediaTypeUnsupported unless the body is a part of the file."""
    if not has_bytes(request):
        raise MediaTypeUnsupported(f"the body is {str(request.content_type)[:80]!r}, not {MEDIA_TYPE}")


def pieces_of(request: Request) -> Iterator[bytes]:
    """The body as it comes in."""
    body = request.stream
    if body is None:
        return
    connection = request.META.get("gunicorn.socket")
    if connection is not None:
        connection.settimeout(max(SILENCE_S, settings.CONCH["lease_s"]))
    while piece := body.read(READ_BYTES):
        yield piece
