"""Versions: uploaded by streaming, checked by a worker, immutable from then on."""

from datetime import timedelta
from typing import Any

from django.http import HttpRequest
from rest_framework.parsers import JSONParser, MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from apps.access import services as access
from apps.api.described import described
from apps.api.doors import ApiView, asked, filters
from apps.api.idempotent import idempotent, request_key
from apps.api.shapes.common import ReasonShape
from apps.api.shapes.preflight import ReportFilter, ReportShape
from apps.api.shapes.versions import (
    ComparisonShape,
    DiffFilter,
    VersionChoice,
    VersionDetailShape,
    VersionFilter,
    VersionReference,
    VersionShape,
    VersionUpload,
)
from apps.common.errors import IllegalTransition
from apps.deployments import selectors as reports
from apps.deployments import services as deployments
from apps.deployments.errors import VersionInUse, VersionNotArchived
from apps.fleet import selectors as fleet
from apps.fleet.errors import EnvironmentUnknown
from apps.registry import errors, selectors, services
from apps.registry.arriving import FIELDS_BYTES, ReceivingHandler, as_upload, too_large
from apps.registry.sources.errors import ReferenceInvalid, ReferenceNotAllowed

# Long enough to move the largest upload into the store.
UPLOAD_LEASE = timedelta(minutes=15)


class Versions(ApiView):
    """A model's versions."""

    parser_classes = [MultiPartParser, JSONParser]

    def initialize_request(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """Set where files go before anything can begin to read them."""
        request.upload_handlers = [ReceivingHandler(request, limit_bytes=services.largest_upload())]
        return super().initialize_request(request, *args, **kwargs)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Refuse who may not, and what has no model, before the bytes are received."""
        super().initial(request, *args, **kwargs)
        if request.method == "POST":
            access.require(self.actor(), "add_version")
            selectors.get_model(kwargs["name"])
            announced = int(request.META.get("CONTENT_LENGTH") or 0)
            services.require_small(self.actor(), announced - FIELDS_BYTES)
            if not _is_json(request):
                services.require_room(announced)

    def body_limit_bytes(self) -> int:
        """The largest upload and its fields; a reference is short."""
        return super().body_limit_bytes() if _is_json(self.request) else services.largest_upload() + FIELDS_BYTES

    def too_long(self, request: Request) -> Exception:
        """Refused before a byte is received."""
        return super().too_long(request) if _is_json(request) else too_large(services.largest_upload())

    @described("List versions", gives=VersionShape, filters=VersionFilter, is_page=True, errors=[errors.ModelUnknown])
    def get(self, request: Request, name: str) -> Response:
        """Newest number first. A rejected number may be used again, and then comes more than once."""
        selectors.get_model(name)
        found = selectors.versions(name, **filters(VersionFilter, request))
        found = found.defer("config", "config_text", "signature", "artifact__files")
        return self.page(found, VersionShape, ordering=["-number", "-pk"])

    @described(
        "Upload a version",
        takes=VersionUpload,
        media_type="multipart/form-data",
        or_json=VersionReference,
        gives=VersionShape,
        status=202,
        errors=[
            errors.ModelUnknown,
            errors.VersionNumberTaken,
            errors.NumberTakenMeanwhile,
            errors.NumberInvalid,
            errors.FieldInvalid,
            errors.UploadTooLarge,
            errors.UploadEmpty,
            errors.UploadBroken,
            errors.StoreFull,
            errors.StoreBroken,
            errors.TooManyUploads,
            errors.IncomingFull,
            errors.ArtifactUnknown,
            ReferenceInvalid,
            ReferenceNotAllowed,
        ],
    )
    @idempotent(UPLOAD_LEASE)
    def post(self, request: Request, name: str) -> Response:
        """A .zip, .tar, .tar.gz or .tar.zst of a model directory, or one model file; or, as JSON, where it lies.

        By reference it is `fetching` first, with its `progress`. It is `received`, then `checking`; then `ready`, or
        `rejected` with an `error`. `url` tells which. It is `choosing` where the archive holds several versions and
        `version_directory` did not say which one is meant.
        """
        version = self._referred(request, name) if _is_json(request) else self._uploaded(request, name)
        return self.started(self.shape(VersionShape, version))

    def _referred(self, request: Request, name: str) -> Any:
        given = asked(VersionReference, request)
        source, sha256 = given.pop("from"), given.pop("sha256")
        wanted = services.Wanted(**given, request_key=request_key(request))
        return services.add_version_from(self.actor(), model=name, source=source, sha256=sha256, wanted=wanted)

    def _uploaded(self, request: Request, name: str) -> Any:
        wanted = asked(VersionUpload, request)
        upload = as_upload(wanted.pop("file"))
        key = request_key(request)
        return services.add_version(self.actor(), model=name, upload=upload, request_key=key, **wanted)


def _is_json(request: Any) -> bool:
    return str(request.content_type or "").startswith("application/json")


class Version(ApiView):
    """One version."""

    @described("Get a version", gives=VersionDetailShape, errors=[errors.ModelUnknown, errors.VersionUnknown])
    def get(self, request: Request, name: str, number: int) -> Response:
        """With its configuration, files, remarks and, when it was rejected, why."""
        return Response(self.shape(VersionDetailShape, selectors.get_version(name, number)))


class VersionDiff(ApiView):
    """Two versions side by side."""

    @described(
        "Compare two versions",
        gives=ComparisonShape,
        filters=DiffFilter,
        errors=[errors.ModelUnknown, errors.VersionUnknown, errors.VersionUnchecked],
    )
    def get(self, request: Request, name: str, number: int) -> Response:
        """From this version to `with`: the configuration by meaning, the files by content."""
        other = filters(DiffFilter, request)["with"]
        return Response(self.shape(ComparisonShape, selectors.compare_versions(name, number, other)))


class VersionReport(ApiView):
    """What preflight says."""

    @described(
        "Report on a version",
        gives=ReportShape,
        filters=ReportFilter,
        errors=[errors.ModelUnknown, errors.VersionUnknown, errors.VersionUnchecked, EnvironmentUnknown],
    )
    def get(self, request: Request, name: str, number: int) -> Response:
        """What a promotion to `environment` would be refused or asked for, per server; nothing is asked of any."""
        environment = fleet.get_environment(filters(ReportFilter, request)["environment"])
        version = selectors.get_checked_version(name, number)
        return Response(self.shape(ReportShape, reports.report(version, environment.name)))


class VersionChoosing(ApiView):
    """Telling which of several versions is meant."""

    parser_classes = [JSONParser]

    @described(
        "Choose a version directory",
        takes=VersionChoice,
        gives=VersionShape,
        status=202,
        errors=[errors.ModelUnknown, errors.VersionUnknown, errors.NothingToChoose, errors.FieldInvalid],
    )
    @idempotent()
    def post(self, request: Request, name: str, number: int) -> Response:
        """For a version that is `choosing`: its upload was kept, and is checked now with the one that is named."""
        wanted = asked(VersionChoice, request)
        version = services.choose_version(self.actor(), model=name, number=number, **wanted)
        return self.started(self.shape(VersionShape, version))


class VersionDiscarding(ApiView):
    """Giving a version up before it is checked."""

    parser_classes = [JSONParser]

    @described(
        "Discard a version",
        takes=ReasonShape,
        gives=VersionShape,
        errors=[errors.ModelUnknown, errors.VersionUnknown, errors.NothingToDiscard],
    )
    @idempotent()
    def post(self, request: Request, name: str, number: int) -> Response:
        """For a version that is `fetching` or `choosing`: it is `rejected`, its bytes go, its number is free again."""
        version = services.discard_version(self.actor(), model=name, number=number, **asked(ReasonShape, request))
        return Response(self.shape(VersionShape, version))


class VersionArchive(ApiView):
    """Putting a version away."""

    parser_classes = [JSONParser]

    @described(
        "Archive a version",
        takes=ReasonShape,
        gives=VersionShape,
        errors=[errors.ModelUnknown, errors.VersionUnknown, VersionInUse, IllegalTransition],
    )
    @idempotent()
    def post(self, request: Request, name: str, number: int) -> Response:
        """It cannot be promoted any more. Refused while it is live, kept hot, or on its way somewhere."""
        wanted = asked(ReasonShape, request)
        version = deployments.archive_version(self.actor(), model=name, version=number, **wanted)
        return Response(self.shape(VersionShape, version))


class VersionBytes(ApiView):
    """Letting go of an archived version's bytes."""

    parser_classes = [JSONParser]

    @described(
        "Remove a version's bytes",
        takes=ReasonShape,
        gives=VersionShape,
        status=202,
        errors=[errors.ModelUnknown, errors.VersionUnknown, VersionNotArchived, VersionInUse],
    )
    @idempotent()
    def post(self, request: Request, name: str, number: int) -> Response:
        """Here and in repositories, by a worker; it cannot be undone. The version is `removed`, its history stays."""
        wanted = asked(ReasonShape, request)
        version = deployments.remove_version_bytes(self.actor(), model=name, version=number, **wanted)
        return self.started(self.shape(VersionShape, version))
