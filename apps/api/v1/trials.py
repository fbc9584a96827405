"""Trying a version with one request."""

from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.described import described
from apps.api.doors import ApiView, asked, filters
from apps.api.idempotent import idempotent
from apps.api.shapes.common import DeadlineShape
from apps.api.shapes.trials import TrialDetailShape, TrialFilter, TrialRequest, TrialShape
from apps.api.waiting import wait_until
from apps.deployments import errors, selectors, services
from apps.fleet.errors import ServerUnknown
from apps.registry.errors import ModelUnknown, SampleInvalid, SampleUnknown, VersionUnknown


class Trials(ApiView):
    """Requests made by hand."""

    @described("List trials", gives=TrialShape, filters=TrialFilter, is_page=True)
    def get(self, request: Request) -> Response:
        """Newest first, of the last week."""
        return self.page(selectors.trials(**filters(TrialFilter, request)), TrialShape, ordering=["-pk"])

    @described(
        "Try a version",
        takes=TrialRequest,
        gives=TrialShape,
        status=202,
        errors=[
            ServerUnknown,
            ModelUnknown,
            VersionUnknown,
            SampleUnknown,
            SampleInvalid,
            errors.NothingToSend,
            errors.NotServedThere,
        ],
    )
    @idempotent()
    def post(self, request: Request) -> Response:
        """One request to one version on one server, made by a worker; `url` tells the answer."""
        trial = services.try_version(self.actor(), **asked(TrialRequest, request))
        return self.started(self.shape(TrialShape, trial))


class Trial(ApiView):
    """One request made by hand."""

    @described("Get a trial", gives=TrialDetailShape, filters=DeadlineShape, errors=[errors.TrialUnknown])
    def get(self, request: Request, trial_id: int) -> Response:
        """With what was sent. With `wait`, when it has ended or after that many seconds, whichever is first."""
        wait_s = filters(DeadlineShape, request)["wait"]
        if wait_s:
            wait_until(lambda: selectors.trial_has_ended(trial_id), wait_s=wait_s)
        return Response(self.shape(TrialDetailShape, selectors.get_trial(trial_id)))
