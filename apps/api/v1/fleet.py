"""Environments, repositories, Conch's own parts, and what Prometheus should scrape."""

from typing import Any

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from apps.access.verbs import DISCOVER
from apps.api.described import described
from apps.api.discovery import target_group
from apps.api.doors import ApiView, asked, filters
from apps.api.shapes.fleet import (
    EnvironmentAddition,
    EnvironmentChange,
    EnvironmentFilter,
    EnvironmentShape,
    HealthShape,
    RepositoryAddition,
    RepositoryShape,
    TargetGroupShape,
)
from apps.common.names import BadName
from apps.deployments import services as deployments
from apps.deployments.errors import PolicyInvalid
from apps.deployments.selectors import with_policies
from apps.fleet import errors, selectors, services


class Environments(ApiView):
    """Environments."""

    @described("List environments", gives=EnvironmentShape, is_page=True)
    def get(self, request: Request) -> Response:
        """By rank, left to right."""
        return self.page(with_policies(selectors.environments()), EnvironmentShape, ordering=["rank", "name"])

    @described(
        "Add an environment",
        takes=EnvironmentAddition,
        gives=EnvironmentShape,
        status=201,
        errors=[BadName, errors.NameTaken, errors.BadRank, PolicyInvalid],
    )
    def post(self, request: Request) -> Response:
        """A new environment without servers."""
        made = deployments.add_environment(self.actor(), **asked(EnvironmentAddition, request))
        return self.created(self.shape(EnvironmentShape, _environment(made.name)))


class Environment(ApiView):
    """One environment."""

    @described("Get an environment", gives=EnvironmentShape, errors=[errors.EnvironmentUnknown])
    def get(self, request: Request, name: str) -> Response:
        """Its rank, and the two settings of its policy that are read most."""
        return Response(self.shape(EnvironmentShape, _environment(name)))

    @described(
        "Change an environment",
        takes=EnvironmentChange,
        gives=EnvironmentShape,
        errors=[errors.EnvironmentUnknown, errors.BadRank, PolicyInvalid],
    )
    def patch(self, request: Request, name: str) -> Response:
        """Only the fields that are given; all but the rank are keys of the environment's policy."""
        wanted = asked(EnvironmentChange, request, is_partial=True)
        deployments.update_environment(self.actor(), name=name, **wanted)
        return Response(self.shape(EnvironmentShape, _environment(name)))


class Repositories(ApiView):
    """Model repositories."""

    @described("List repositories", gives=RepositoryShape, filters=EnvironmentFilter, is_page=True)
    def get(self, request: Request) -> Response:
        """By name."""
        found = selectors.repositories(**filters(EnvironmentFilter, request))
        return self.page(found, RepositoryShape, ordering=["name"])

    @described(
        "Add a repository",
        takes=RepositoryAddition,
        gives=RepositoryShape,
        status=201,
        errors=[
            BadName,
            errors.EnvironmentUnknown,
            errors.NameTaken,
            errors.PathTaken,
            errors.BadPath,
            errors.RepositoryKindUnknown,
        ],
    )
    def post(self, request: Request) -> Response:
        """Where the servers of one environment take their models from: a directory, or nothing but the load calls."""
        made = services.add_repository(self.actor(), **asked(RepositoryAddition, request))
        return self.created(self.shape(RepositoryShape, made))


class Health(ApiView):
    """Conch's own parts."""

    @described("Health of Conch's own parts", gives=HealthShape)
    def get(self, request: Request) -> Response:
        """What each part last said of itself. Nothing is asked now: the clock asks every few seconds."""
        parts = selectors.health(now=timezone.now())
        is_well = all(part.is_well for part in parts)
        return Response(self.shape(HealthShape, {"is_well": is_well, "parts": parts}))


class PrometheusTargets(ApiView):
    """Service discovery for Prometheus."""

    looks = DISCOVER

    @described("Targets for Prometheus (http_sd)", gives=TargetGroupShape, is_list=True)
    def get(self, request: Request) -> Response:
        """One group per active server that has a metrics address. A token of scope `sd:read` opens this alone."""
        servers = selectors.servers(state="active").exclude(metrics="")
        return Response([target_group(server) for server in servers])


def _environment(name: str) -> Any:
    return with_policies(selectors.environments()).get(pk=selectors.get_environment(name).pk)
