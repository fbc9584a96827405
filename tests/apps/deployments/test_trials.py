"""Requests by hand: who may ask what, and that each ends once."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from apps.access.services import actor_of, add_user, grant_role
from apps.audit import selectors as audit
from apps.common.actor import COMMAND
from apps.common.errors import NotAllowed
from apps.deployments import selectors, services
from apps.deployments.errors import NothingToSend, NotServedThere, TrialUnknown
from apps.deployments.models import Trial
from apps.registry import services as registry
from apps.registry.errors import SampleInvalid
from tests.factories.fleets import FleetRows

HERE: dict[str, Any] = {"server": "prod-1", "model": "digits", "version": 1}
PIXELS = [{"name": "pixels", "datatype": "FP32", "shape": [1, 2], "data": [[0.5, 1]]}]


@pytest.fixture
def served(rows: FleetRows) -> FleetRows:
    rows.observed("prod-1", "digits", 1)
    return rows


def test_a_trial_is_queued_and_told_in_the_audit(served: FleetRows) -> None:
    trial = services.try_version(COMMAND, **HERE, inputs=PIXELS)

    assert (trial.state, trial.inputs[0]["data"]) == ("queued", [0.5, 1])
    (event,) = audit.events(verb="try_version")
    assert (event.subject, event.model, event.detail["version"]) == ("prod-1", "digits", 1)


def test_a_sample_is_sent_by_its_name(served: FleetRows) -> None:
    registry.add_sample(
        COMMAND, model="digits", name="half", inputs=[{**PIXELS[0], "shape": [1, 64], "data": [0.5] * 64}]
    )

    trial = services.try_version(COMMAND, **HERE, sample="half")

    assert trial.inputs == [{"name": "pixels", "datatype": "FP32", "shape": [1, 64], "data": [0.5] * 64}]


def test_a_server_that_was_not_seen_to_serve_it_is_not_asked(rows: FleetRows) -> None:
    with pytest.raises(NotServedThere, match="prod-1 was not last seen to serve digits version 2"):
        services.try_version(COMMAND, **HERE | {"version": 2}, inputs=PIXELS)


def test_what_is_no_tensor_is_refused_before_anybody_is_asked(served: FleetRows) -> None:
    with pytest.raises(SampleInvalid, match="needs 4"):
        services.try_version(COMMAND, **HERE, inputs=[{**PIXELS[0], "shape": [1, 4]}])

    assert not Trial.objects.exists()


def test_nothing_to_send_says_so(served: FleetRows) -> None:
    with pytest.raises(NothingToSend):
        services.try_version(COMMAND, **HERE, inputs=[])


def test_a_viewer_may_not_ask(served: FleetRows) -> None:
    user = add_user(COMMAND, username="vera", password="only looks around")
    grant_role(COMMAND, username="vera", role="viewer")

    with pytest.raises(NotAllowed):
        services.try_version(actor_of(user, door="api", address=""), **HERE, inputs=PIXELS)


def test_of_two_workers_with_the_same_message_one_asks(served: FleetRows) -> None:
    trial = services.try_version(COMMAND, **HERE, inputs=PIXELS)
    now = timezone.now()

    first, second = services.begin_trial(trial.pk, now=now), services.begin_trial(trial.pk, now=now)

    assert first is not None
    assert second is None


def test_a_lost_message_is_sent_again_and_a_lost_worker_ends_it(served: FleetRows) -> None:
    unheard = services.try_version(COMMAND, **HERE, inputs=PIXELS)
    begun = services.try_version(COMMAND, **HERE, inputs=PIXELS)
    services.begin_trial(begun.pk, now=timezone.now())

    found = services.sweep_trials(timezone.now() + timedelta(minutes=2))

    assert found == [unheard.pk]
    assert selectors.get_trial(begun.pk).error["code"] == "trial_lost"


def test_trials_are_forgotten_after_a_week(served: FleetRows) -> None:
    trial = services.try_version(COMMAND, **HERE, inputs=PIXELS)

    assert services.forget_old_trials(timezone.now() + timedelta(days=8)) == 1
    with pytest.raises(TrialUnknown):
        selectors.get_trial(trial.pk)
