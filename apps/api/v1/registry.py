"""Models and their aliases."""

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

    @described("Take an alias away", gives=ModelShape, errors=[errors.ModelUnknown, errors.AliasUnknown])
    def delete(self, request: Request, name: str, alias: str) -> Response:
        """The version it pointed at stays."""
        return Response(self.shape(ModelShape, services.remove_alias(self.actor(), model=name, alias=alias)))
