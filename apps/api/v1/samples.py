"""Samples: inputs to warm up with and, where the answers are known, to check against."""

from typing import Any

from django.http import HttpRequest
from rest_framework import status
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.described import described
from apps.api.doors import ApiView, asked
from apps.api.idempotent import idempotent
from apps.api.shapes.samples import SampleAddition, SampleCapture, SampleDetailShape, SampleFiles, SampleShape
from apps.common.names import BadName
from apps.deployments import services as deployments
from apps.deployments.errors import NothingPlaced, NothingToSend, PlacementUnknown
from apps.registry import errors, npz, selectors, services
from apps.registry.arriving import ReceivingHandler

ADDING = [BadName, errors.ModelUnknown, errors.SampleTaken, errors.SampleInvalid, errors.SampleMisfit]
# Two files and the other fields.
MOST_BYTES = 2 * npz.MAX_FILE_BYTES + 2**20


class Samples(ApiView):
    """A model's samples."""

    @described("List samples", gives=SampleShape, is_page=True, errors=[errors.ModelUnknown])
    def get(self, request: Request, name: str) -> Response:
        """By name, with their tensors."""
        selectors.get_model(name)
        return self.page(selectors.samples(name), SampleShape, ordering=["name"])

    @described("Add a sample", takes=SampleAddition, gives=SampleDetailShape, status=201, errors=ADDING)
    @idempotent()
    def post(self, request: Request, name: str) -> Response:
        """With `outputs` it is golden: a version that answers otherwise is never promoted.

        It must fit a ready version, where there is one; the answer says which.
        """
        made = services.add_sample(self.actor(), model=name, **asked(SampleAddition, request))
        return self.created(self.shape(SampleDetailShape, made))


class SampleFilesUpload(ApiView):
    """Samples from NumPy."""

    parser_classes = [MultiPartParser]

    def initialize_request(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """Set where files go before anything can begin to read them."""
        request.upload_handlers = [ReceivingHandler(request, limit_bytes=MOST_BYTES)]
        return super().initialize_request(request, *args, **kwargs)

    def body_limit_bytes(self) -> int:
        """Two files and the other fields."""
        return MOST_BYTES

    @described(
        "Add a sample from files",
        takes=SampleFiles,
        media_type="multipart/form-data",
        gives=SampleDetailShape,
        status=201,
        errors=[*ADDING, errors.IncomingFull, errors.StoreFull],
    )
    @idempotent()
    def post(self, request: Request, name: str) -> Response:
        """As .npz with an array for each tensor, in the shape it has on the wire. Text arrays become BYTES."""
        wanted = asked(SampleFiles, request)
        made = services.add_sample_from_files(
            self.actor(),
            model=name,
            name=wanted["name"],
            inputs=wanted["inputs"].read(),
            outputs=wanted["outputs"].read() if "outputs" in wanted else b"",
            tolerances=_tolerances(wanted.get("tolerances")),
        )
        return self.created(self.shape(SampleDetailShape, made))


class SampleCaptures(ApiView):
    """Samples whose answers come from what is live."""

    @described(
        "Capture a golden sample",
        takes=SampleCapture,
        gives=SampleDetailShape,
        status=202,
        errors=[*ADDING, PlacementUnknown, NothingPlaced, NothingToSend],
    )
    @idempotent()
    def post(self, request: Request, name: str) -> Response:
        """A worker asks the live version twice and keeps the answers, if they agree; then the sample is golden."""
        wanted = asked(SampleCapture, request)
        made = deployments.capture_golden(
            self.actor(),
            model=name,
            name=wanted["name"],
            environment=wanted["environment"],
            inputs=wanted.get("inputs"),
            tolerances=_tolerances(wanted.get("tolerances")),
        )
        return self.started(self.shape(SampleDetailShape, made))


class Sample(ApiView):
    """One sample."""

    @described("Get a sample", gives=SampleDetailShape, errors=[errors.ModelUnknown, errors.SampleUnknown])
    def get(self, request: Request, name: str, sample: str) -> Response:
        """With the ready versions that can take it, and why the others cannot."""
        return Response(self.shape(SampleDetailShape, selectors.get_sample(name, sample)))

    @described("Remove a sample", gives=None, status=204, errors=[errors.ModelUnknown, errors.SampleUnknown])
    def delete(self, request: Request, name: str, sample: str) -> Response:
        """Later versions are not checked against it any more."""
        services.remove_sample(self.actor(), model=name, name=sample)
        return Response(status=status.HTTP_204_NO_CONTENT)


def _tolerances(given: Any) -> dict[str, Any]:
    is_mapping = isinstance(given, dict) and all(isinstance(one, dict) for one in given.values())
    if given is not None and not is_mapping:
        raise errors.SampleInvalid('tolerances is not an object such as {"y": {"atol": 0.01}}', field="tolerances")
    return dict(given or {})
