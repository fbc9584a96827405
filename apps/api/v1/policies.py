"""How promotions go in an environment."""

from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.described import described
from apps.api.doors import ApiView, asked
from apps.api.shapes.policies import PolicyChange, PolicyShape
from apps.deployments import errors, selectors, services
from apps.fleet import selectors as fleet
from apps.fleet.errors import EnvironmentUnknown


class Policy(ApiView):
    """The policy in force."""

    @described("Get an environment's policy", gives=PolicyShape, errors=[EnvironmentUnknown])
    def get(self, request: Request, name: str) -> Response:
        """Waves, bakes, gates, approval, freeze windows: what promotions that begin now will keep to."""
        return Response(self.shape(PolicyShape, selectors.policy_row(fleet.get_environment(name))))

    @described(
        "Change an environment's policy",
        takes=PolicyChange,
        gives=PolicyShape,
        errors=[EnvironmentUnknown, errors.PolicyInvalid, errors.PolicyChanged],
    )
    def put(self, request: Request, name: str) -> Response:
        """Rollouts that are moving keep the policy they began with."""
        wanted = asked(PolicyChange, request)
        row = services.change_policy(self.actor(), environment=name, document=wanted.pop("policy"), **wanted)
        return Response(self.shape(PolicyShape, row))


class Policies(ApiView):
    """Every policy there was."""

    @described("List an environment's policies", gives=PolicyShape, is_page=True, errors=[EnvironmentUnknown])
    def get(self, request: Request, name: str) -> Response:
        """Newest first; the first is in force."""
        found = selectors.policies(fleet.get_environment(name).name)
        return self.page(found, PolicyShape, ordering=["-number"])
