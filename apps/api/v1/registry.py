"""Models, their aliases and samples."""

from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.described import described
from apps.api.doors import ApiView, asked, filters
from apps.api.idempotent import idempotent
from apps.api.shapes.registry import (
    AliasShape,
    AliasTarget,
    ModelChange,
    ModelFilter,
    ModelRegistration,
    ModelShape,
    SampleAddition,
    SampleShape,
)
from apps.common.names import BadName
from apps.registry import errors, selectors, services


class Models(ApiView):
    """What may be served."""

    @described("List models", gives=ModelShape, filters=ModelFilter, is_page=True)
    def get(self, request: Request) -> Response:
        """By name."""
        found = selectors.models(**filters(ModelFilter, request)).prefetch_related("aliases__version")
        return self.page(found, ModelShape, ordering=["name"])

    @described(
        "Register a model",
        takes=ModelRegistration,
        gives=ModelShape,
        status=201,
        errors=[BadName, errors.ModelTaken, errors.FieldInvalid],
    )
    @idempotent()
    def post(self, request: Request) -> Response:
        """A name that Triton accepts, an owner, and what is promised of it."""
        made = services.register_model(self.actor(), **asked(ModelRegistration, request))
        return self.created(self.shape(ModelShape, made))


class Model(ApiView):
    """One model."""

    @described("Get a model", gives=ModelShape, errors=[errors.ModelUnknown])
    def get(self, request: Request, name: str) -> Response:
        """With its aliases."""
        return Response(self.shape(ModelShape, selectors.get_model(name)))

    @described(
        "Change a model",
        takes=ModelChange,
        gives=ModelShape,
        errors=[errors.ModelUnknown, errors.FieldInvalid],
    )
    def patch(self, request: Request, name: str) -> Response:
        """Only the fields that are given; the name stays."""
        wanted = asked(ModelChange, request, is_partial=True)
        return Response(self.shape(ModelShape, services.update_model(self.actor(), name=name, **wanted)))


class Alias(ApiView):
    """A movable name for a version."""

    @described(
        "Point an alias",
        takes=AliasTarget,
        gives=AliasShape,
        errors=[BadName, errors.ModelUnknown, errors.VersionUnknown, errors.VersionNotReady],
    )
    def put(self, request: Request, name: str, alias: str) -> Response:
        """At a version of the model; it is made when it is new."""
        wanted = asked(AliasTarget, request)
        return Response(self.shape(AliasShape, services.point_alias(self.actor(), model=name, alias=alias, **wanted)))


class Samples(ApiView):
    """Inputs to warm up with and, where the answers are known, to check against."""

    @described("List samples", gives=SampleShape, is_page=True, errors=[errors.ModelUnknown])
    def get(self, request: Request, name: str) -> Response:
        """By name, with their tensors."""
        selectors.get_model(name)
        return self.page(selectors.samples(name), SampleShape, ordering=["name"])

    @described(
        "Add a sample",
        takes=SampleAddition,
        gives=SampleShape,
        status=201,
        errors=[BadName, errors.ModelUnknown, errors.SampleTaken, errors.SampleInvalid],
    )
    @idempotent()
    def post(self, request: Request, name: str) -> Response:
        """With `outputs` it is golden: a version that answers otherwise is never promoted."""
        made = services.add_sample(self.actor(), model=name, **asked(SampleAddition, request))
        return self.created(self.shape(SampleShape, made))


class Sample(ApiView):
    """One sample."""

    @described("Remove a sample", gives=None, status=204, errors=[errors.ModelUnknown, errors.SampleUnknown])
    def delete(self, request: Request, name: str, sample: str) -> Response:
        """Later versions are not checked against it any more."""
        services.remove_sample(self.actor(), model=name, name=sample)
        return Response(status=status.HTTP_204_NO_CONTENT)
