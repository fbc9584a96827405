"""Another configuration in one environment, over REST."""

import json
import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from apps.deployments.models import Overlay, Placement, Rollout
from apps.registry.models import Version
from tests.apps.api import rows
from tests.apps.api.conftest import Callers

pytestmark = pytest.mark.django_db
WHERE = "/api/v1/placements/prod/digits"
CONFIG = {
    "name": "digits",
    "backend": "python",
    "max_batch_size": 8,
    "input": [{"name": "x", "data_type": "TYPE_FP32", "dims": [4]}],
    "output": [{"name": "y", "data_type": "TYPE_FP32", "dims": [4]}],
}
BATCHING = {"dynamic_batching": {"max_queue_delay_microseconds": 500}}
TWO = {"instance_group": [{"count": 2, "kind": "KIND_CPU"}]}


@pytest.fixture
def live(db: None) -> Placement:
    """Version 1 is live on one server."""
    rows.server("t1")
    version = rows.version(1)
    version.config = CONFIG
    version.save()
    return rows.placement(active=version)


def send(client: Client, path: str, body: Any, **headers: str) -> Any:
    return client.post(f"{WHERE}/{path}", json.dumps(body), content_type="application/json", headers=headers)


def test_setting_one_starts_a_rollout_of_the_same_version(ci: Client, live: Placement) -> None:
    answer = send(ci, "overlays", {"document": BATCHING, "reason": "the queue is long"})

    told = ci.get(answer["Location"]).json()
    assert answer.status_code == 202
    assert answer.json()["overlay"]["document"] == BATCHING
    assert (told["kind"], told["from_version"], told["to_version"]) == ("reconfigure", 1, 1)
    assert (told["from_overlay"], told["to_overlay"], told["reason"]) == (None, 1, "the queue is long")
    (run,) = ci.get(told["runs_url"]).json()["results"]
    assert run["recipe"] == ["preflight", "shadow", "reconfigure", "await_ready", "verify"]


def test_what_heals_is_taken_over_from_in_the_order_in_which_it_ends(ci: Client, live: Placement) -> None:
    healing = rows.rollout(live, to=Version.objects.get(), state="running")
    Rollout.objects.update(kind="heal")

    with CaptureQueriesContext(connection) as asked:
        answer = send(ci, "overlays", {"document": BATCHING, "reason": "the queue is long"})

    locked = [one["sql"] for one in asked if "FOR UPDATE" in one["sql"]]
    first = [name for sql in locked for name in re.findall(r'FROM "deployments_(rollout|placement)"', sql)][:2]
    healing.refresh_from_db()
    assert answer.status_code == 202, answer.content
    assert (first, healing.state) == (["rollout", "placement"], "failed")


def test_the_same_request_again_starts_nothing_again(ci: Client, live: Placement) -> None:
    body = {"document": BATCHING, "reason": "the queue is long"}

    first = send(ci, "overlays", body, idempotency_key="one")
    again = send(ci, "overlays", body, idempotency_key="one")

    assert first.json() == again.json()
    assert (Rollout.objects.count(), Overlay.objects.count()) == (1, 1)


def test_trying_one_shows_what_comes_of_it_and_changes_nothing(ci: Client, live: Placement) -> None:
    cold, warm = (send(ci, "overlays/try", {"document": document}).json() for document in (BATCHING, TWO))

    assert "+   max_queue_delay_microseconds: 500" in cold["changes"]
    assert "max_queue_delay_microseconds: 500" in cold["text"]
    assert (cold["restarts"], warm["restarts"]) == (True, False)
    assert Overlay.objects.count() == 0


def test_what_is_in_effect_is_told_with_its_configuration(ci: Client, live: Placement) -> None:
    kept = Overlay.objects.create(placement=live, number=1, document=BATCHING, reason="why", created_by="ci")
    Placement.objects.filter(pk=live.pk).update(overlay=kept)

    told = ci.get(f"{WHERE}/overlay").json()
    history = ci.get(f"{WHERE}/overlays").json()["results"]

    assert told["current"]["number"] == 1
    assert "max_queue_delay_microseconds: 500" in told["effect"]["text"]
    assert told["effect"]["changes"] == []
    assert [line["reason"] for line in history] == ["why"]
    assert ci.get(WHERE).json()["overlay"] == 1


def test_the_version_as_it_was_uploaded_is_overlay_0(ci: Client, live: Placement) -> None:
    kept = Overlay.objects.create(placement=live, number=1, document=BATCHING)
    Placement.objects.filter(pk=live.pk).update(overlay=kept)

    answer = send(ci, "overlays", {"restore": 0, "reason": "it was better before"})

    assert answer.json()["overlay"]["document"] == {}
    assert Rollout.objects.get().from_overlay == kept


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"document": {"max_batch_size": 1}, "reason": "x"}, 400, "overlay_invalid"),
        ({"document": {"dynamic_batching": {"preferred_batch_size": [99]}}, "reason": "x"}, 400, "overlay_invalid"),
        ({"document": [], "reason": "x"}, 400, "overlay_invalid"),
        ({"document": {}, "reason": "x"}, 409, "overlay_unchanged"),
        ({"restore": 7, "reason": "x"}, 404, "overlay_unknown"),
        ({"reason": "x"}, 400, "fields_invalid"),
        ({"document": {}, "restore": 1, "reason": "x"}, 400, "fields_invalid"),
        ({"document": BATCHING}, 400, "fields_invalid"),
        ({"document": BATCHING, "reason": " x", "skip": ["nobody"]}, 404, "server_unknown"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_kept(
    ci: Client, live: Placement, body: Any, status: int, code: str
) -> None:
    answer = send(ci, "overlays", body)

    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert Overlay.objects.count() == 0


def test_where_nothing_is_live_it_waits_for_the_next_promotion(ci: Client) -> None:
    rows.server("t1")
    rows.version(1)

    answer = send(ci, "overlays", {"document": TWO, "reason": "two from the start"})

    assert (answer.status_code, answer.json()["rollout"]) == (202, None)
    assert Placement.objects.get().overlay is not None
    assert send(ci, "overlays/try", {"document": TWO}).json()["code"] == "nothing_placed"


def test_a_token_of_another_environment_may_look_and_not_change(script: Callers, live: Placement) -> None:
    stranger = script("deploy", environment="staging")

    assert send(stranger, "overlays/try", {"document": TWO}).status_code == 200
    assert send(stranger, "overlays", {"document": TWO, "reason": "x"}).json()["code"] == "not_allowed"
