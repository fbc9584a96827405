"""Models that are kept warm by the clock: how often, and once."""

from typing import Any

import pytest
from django.utils import timezone

from apps.common.actor import COMMAND
from apps.deployments import services
from apps.deployments.services.clock import TooOften
from tests.factories.fleets import FleetRows

PROD: dict[str, Any] = {"environment": "prod", "model": "digits"}


def test_a_warm_up_schedule_that_would_be_traffic_is_refused(rows: FleetRows) -> None:
    with pytest.raises(TooOften):
        services.schedule_warmup(COMMAND, **PROD, every_s=1)


def test_a_due_warm_up_is_claimed_once(rows: FleetRows) -> None:
    services.schedule_warmup(COMMAND, **PROD, every_s=60)
    now = timezone.now()

    first, second = services.claim_due_warmups(now), services.claim_due_warmups(now)

    assert [placement.model.name for placement in first] == ["digits"]
    assert second == []


def test_a_shorter_interval_counts_from_now(rows: FleetRows) -> None:
    services.schedule_warmup(COMMAND, **PROD, every_s=86_400)
    services.claim_due_warmups(timezone.now())

    services.schedule_warmup(COMMAND, **PROD, every_s=60)

    assert len(services.claim_due_warmups(timezone.now())) == 1
