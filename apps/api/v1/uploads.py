"""Resumable uploads, as tus 1.0 clients speak; and bytes that need not be sent."""

from typing import Any

from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework import status
from rest_framework.parsers import JSONParser
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api import tus
from apps.api.described import described
from apps.api.doors import ApiView, asked, filters
from apps.api.errors import FieldsInvalid, MediaTypeUnsupported
from apps.api.idempotent import idempotent
from apps.api.shapes.uploads import (
    ArtifactShape,
    BlockFilter,
    BlocksShape,
    UploadBeginning,
    UploadFilter,
    UploadNumber,
    UploadShape,
)
from apps.api.shapes.versions import VersionShape
from apps.api.tus import TusHeaderInvalid, TusVersionUnsupported, TusView
from apps.registry import errors, selectors, services

RESUMABLE = OpenApiParameter("Tus-Resumable", OpenApiTypes.STR, OpenApiParameter.HEADER, required=True, enum=["1.0.0"])
OFFSET = OpenApiParameter("Upload-Offset", OpenApiTypes.INT, OpenApiParameter.HEADER, required=True)
LENGTH = OpenApiParameter("Upload-Length", OpenApiTypes.INT, OpenApiParameter.HEADER, required=True)
CHECKSUM = OpenApiParameter(
    "Upload-Checksum", OpenApiTypes.STR, OpenApiParameter.HEADER, description="`sha256 <base64>`, or sha1 or md5."
)
METADATA = OpenApiParameter(
    "Upload-Metadata",
    OpenApiTypes.STR,
    OpenApiParameter.HEADER,
    required=True,
    description="`model <base64>,filename <base64>`; also number, version_directory, git_commit, notes, sha256, "
    "fingerprint.",
)
SENDING = (
    TusVersionUnsupported,
    TusHeaderInvalid,
    MediaTypeUnsupported,
    errors.UploadUnknown,
    errors.UploadExpired,
    errors.UploadBusy,
    errors.OffsetWrong,
    errors.UploadOverrun,
    errors.UploadBroken,
    errors.UploadFailed,
    errors.ChecksumWrong,
    errors.DigestWrong,
    errors.VersionNumberTaken,
    errors.NumberTakenMeanwhile,
    errors.StoreFull,
    errors.StoreBroken,
)


class Uploads(TusView):
    """Your resumable uploads."""

    @described("List your uploads", gives=UploadShape, filters=UploadFilter, is_page=True)
    def get(self, request: Request) -> Response:
        """Those begun by you that have not expired, newest first."""
        found = selectors.uploads(self.actor(), **filters(UploadFilter, request))
        return self.page(found, UploadShape, ordering=["-pk"])

    @described(
        "Begin an upload",
        gives=UploadShape,
        status=201,
        takes=OpenApiTypes.BINARY,
        media_type=tus.MEDIA_TYPE,
        headers=(RESUMABLE, LENGTH, METADATA, CHECKSUM),
        errors=[
            *SENDING,
            FieldsInvalid,
            errors.ModelUnknown,
            errors.NumberInvalid,
            errors.FieldInvalid,
            errors.UploadTooLarge,
            errors.UploadEmpty,
            errors.TooManyUploads,
            errors.IncomingFull,
        ],
    )
    def post(self, request: Request) -> Response:
        """tus creation: `Location` is where to send the bytes; a body holds the first of them.

        When the request is of the body's media type, even with no body, and its metadata tells the `sha256` of bytes
        that are in the store already, nothing need be sent: `Upload-Offset` is the whole length and `version` is there.
        """
        wanted = _wanted(tus.metadata_in(request))
        announced = services.Announced(
            tus.number_in(request, "Upload-Length"), wanted.pop("sha256"), wanted.pop("fingerprint")
        )
        model, sends = wanted.pop("model"), tus.has_bytes(request)
        upload = services.begin_upload(
            self.actor(), model=model, announced=announced, wanted=services.Wanted(**wanted), may_skip_bytes=sends
        )
        if sends and request.stream is not None and not upload.version:
            upload = services.append_upload(self.actor(), upload.key, _sending(request, offset_bytes=0))
        where = reverse("api:upload", kwargs={"upload_id": upload.key})
        return Response(
            self.shape(UploadShape, upload),
            status=status.HTTP_201_CREATED,
            headers={"Location": where, **tus.progress_headers(upload)},
        )

    def options(self, request: Request, *args: Any, **kwargs: Any) -> Response:  # type: ignore[override]
        """What of the protocol is spoken."""
        limit = services.upload_limit(self.actor())
        return Response(status=status.HTTP_204_NO_CONTENT, headers=tus.what_is_spoken(limit))


class Upload(TusView):
    """One resumable upload."""

    @described("Get an upload", gives=UploadShape, errors=[errors.UploadUnknown, errors.UploadExpired])
    def get(self, request: Request, upload_id: str) -> Response:
        """How far it is, and the version it has become."""
        upload = selectors.get_upload(self.actor(), upload_id)
        return Response(self.shape(UploadShape, upload), headers=tus.progress_headers(upload))

    def head(self, request: Request, upload_id: str) -> Response:
        """The same for tus clients, in headers."""
        upload = selectors.get_upload(self.actor(), upload_id)
        headers = {"Upload-Metadata": tus.metadata_of(upload), **tus.progress_headers(upload)}
        return Response(headers=headers)

    @described(
        "Send bytes",
        gives=None,
        status=204,
        takes=OpenApiTypes.BINARY,
        media_type=tus.MEDIA_TYPE,
        headers=(RESUMABLE, OFFSET, CHECKSUM),
        errors=SENDING,
    )
    def patch(self, request: Request, upload_id: str) -> Response:
        """From `Upload-Offset` on. The last bytes make the version; `Conch-Version` is its number."""
        tus.require_bytes(request)
        sending = _sending(request, offset_bytes=tus.number_in(request, "Upload-Offset"))
        upload = services.append_upload(self.actor(), upload_id, sending)
        return Response(status=status.HTTP_204_NO_CONTENT, headers=tus.progress_headers(upload))

    @described(
        "End an upload",
        gives=None,
        status=204,
        headers=(RESUMABLE,),
        errors=[TusVersionUnsupported, errors.UploadUnknown, errors.UploadExpired],
    )
    def delete(self, request: Request, upload_id: str) -> Response:
        """Its bytes are dropped; a version that it has become stays."""
        services.discard_upload(self.actor(), upload_id)
        return Response(status=status.HTTP_204_NO_CONTENT)


class UploadBlocks(ApiView):
    """What has come, in digests."""

    @described(
        "Compare an upload",
        gives=BlocksShape,
        filters=BlockFilter,
        errors=[errors.UploadUnknown, errors.UploadExpired, errors.NothingToCompare, errors.StoreBroken],
    )
    def get(self, request: Request, upload_id: str) -> Response:
        """Before you go on with a file: hold its beginning against these. Where they differ it is another file."""
        found = services.received_blocks(self.actor(), upload_id, **filters(BlockFilter, request))
        return Response(self.shape(BlocksShape, found))


class UploadNumbering(ApiView):
    """Giving a number to an upload whose own was taken meanwhile."""

    parser_classes = [JSONParser]

    @described(
        "Number an upload",
        takes=UploadNumber,
        gives=VersionShape,
        status=202,
        errors=[
            errors.UploadUnknown,
            errors.UploadExpired,
            errors.NothingToNumber,
            errors.NumberInvalid,
            errors.VersionNumberTaken,
        ],
    )
    @idempotent()
    def post(self, request: Request, upload_id: str) -> Response:
        """For one that is `numbering`: its bytes were kept, and become the version of that number now."""
        version = services.number_upload(self.actor(), upload_id, **asked(UploadNumber, request))
        return self.started(self.shape(VersionShape, version))


class Artifact(ApiView):
    """Bytes by their SHA-256."""

    @described("Get an artifact", gives=ArtifactShape, errors=[errors.ArtifactUnknown])
    def get(self, request: Request, sha256: str) -> Response:
        """Known bytes need not be sent: add a version `from` them. 404 when they are not known."""
        return Response(self.shape(ArtifactShape, selectors.get_artifact(sha256)))


def _wanted(metadata: dict[str, str]) -> dict[str, Any]:
    """The metadata that Conch knows; an empty number means the next one."""
    named = {"filename": metadata.get("name", ""), **metadata}
    reader = UploadBeginning(data={name: value for name, value in named.items() if value})
    reader.is_valid(raise_exception=True)
    return dict(reader.validated_data)


def _sending(request: Request, *, offset_bytes: int) -> services.Sending:
    size = int(request.META.get("CONTENT_LENGTH") or 0)
    return services.Sending(offset_bytes, size, tus.pieces_of(request), tus.checksum_in(request))
