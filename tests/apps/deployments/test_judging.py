"""Gates of a rollout: when they are judged, what is kept, and what follows."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings

from apps.audit import selectors as audit
from apps.common.actor import COMMAND
from apps.deployments import selectors, services
from apps.deployments.models import Judgement, Rollout
from apps.deployments.policy import Policy
from apps.deployments.selectors.judgements import looks
from apps.deployments.states import RunState
from tests.apps.metrics.doubles import Asked, ScriptedPrometheus, scripted_prometheus
from tests.factories.fleets import FleetRows
from worker import judging

GATE = {"name": "p99", "signal": "latency_quantile", "limit": 60, "every_s": 5}


@pytest.fixture
def prometheus(settings: Settings) -> Iterator[ScriptedPrometheus]:
    """One that is told what to say."""
    with scripted_prometheus() as double:
        settings.CONCH = {**settings.CONCH, "prometheus_url": double.url}
        yield double


def says(prometheus: ScriptedPrometheus, *, p99_ms: float | None, requests: float = 500) -> None:
    """All servers are scraped; version 2 answered so many requests, so quickly."""

    def answer(asked: Asked) -> Any:
        query, at = asked.parameters["query"], float(asked.parameters["start"])
        value: float | None = None
        labels: dict[str, str] = {}
        if "summary_us" in query:
            labels, value = {"version": "2", "quantile": "0.99"}, p99_ms
        elif "request_failure" not in query and "request_success" in query:
            labels, value = {"server": "prod-1", "version": "2"}, requests
        elif "(up{" in query:
            rows = [({"server": name}, [[at, "1"]]) for name in ("prod-1", "prod-2")]
            return _matrix(rows)
        return _matrix([(labels, [[at, str(value)]])] if value is not None else [])

    prometheus.answer = answer


def _matrix(rows: list[Any]) -> dict[str, Any]:
    found = [{"metric": labels, "values": values} for labels, values in rows]
    return {"status": "success", "data": {"resultType": "matrix", "result": found}}


def baking(rows: FleetRows, *, now: datetime, **policy: Any) -> Rollout:
    """A promotion whose first server has the new version, and which bakes since `now`."""
    usual: dict[str, Any] = {"waves": [1, "100%"], "bake_s": 60, "gates": [GATE]}
    services.change_policy(COMMAND, environment="prod", document=usual | policy)
    rollout = services.promote(COMMAND, environment="prod", model="digits", version=2)
    services.advance_rollout(rollout.pk, now=now)
    run = rollout.runs.get(state="running")
    services.note_change(run)
    services.end_run(run, state=RunState.SUCCEEDED, now=now)
    services.advance_rollout(rollout.pk, now=now)
    rollout.refresh_from_db()
    return rollout


def look(rollout: Rollout, now: datetime) -> str:
    """Judge what is due, then go on; the state it is in."""
    judging.judge_rollout(rollout.pk, now=now)
    services.advance_rollout(rollout.pk, now=now)
    rollout.refresh_from_db()
    return str(rollout.state)


@pytest.fixture
def now() -> datetime:
    return timezone.now()


def age(rollout: Rollout, seconds: float) -> None:
    """Let everything about the rollout have happened so much earlier."""
    earlier = timedelta(seconds=seconds)
    Rollout.objects.filter(pk=rollout.pk).update(
        baking_since=rollout.baking_since - earlier if rollout.baking_since else None, judge_at=timezone.now() - earlier
    )
    for one in Judgement.objects.filter(rollout=rollout):
        Judgement.objects.filter(pk=one.pk).update(at=one.at - earlier)
    rollout.refresh_from_db()


def test_a_gate_that_passes_lets_the_next_wave_begin(
    rows: FleetRows, prometheus: ScriptedPrometheus, now: datetime
) -> None:
    says(prometheus, p99_ms=41)
    rollout = baking(rows, now=now)
    look(rollout, now)
    age(rollout, 61)

    look(rollout, timezone.now())

    assert (rollout.state, rollout.wave) == ("running", 1)
    kept = selectors.judgements_of(rollout.pk)[0]
    assert (kept.verdict, kept.value, kept.threshold, kept.samples) == ("pass", 41.0, 60.0, 500.0)
    assert any("nv_inference_request_summary_us" in query for query in kept.queries)


def test_a_gate_that_fails_rolls_back_at_once_and_says_with_which_value(
    rows: FleetRows, prometheus: ScriptedPrometheus, now: datetime
) -> None:
    says(prometheus, p99_ms=180)
    rollout = baking(rows, now=now)

    state = look(rollout, now)

    assert state == "reverting"
    assert rollout.error["code"] == "gate_failed"
    assert "gate p99 of digits version 2 is 180 ms, the limit is 60 ms" in rollout.error["message"]
    assert selectors.ban_on(rollout.placement, rows.versions["digits", 2]) is not None


def test_no_data_at_the_end_of_the_bake_pauses_and_resuming_bakes_once_more(
    rows: FleetRows, prometheus: ScriptedPrometheus, now: datetime
) -> None:
    says(prometheus, p99_ms=None)
    rollout = baking(rows, now=now)
    age(rollout, 61)
    paused = look(rollout, timezone.now())
    reason = rollout.pause_reason

    services.resume(COMMAND, rollout=rollout.pk, reason="traffic is back")
    says(prometheus, p99_ms=41)
    state = look(rollout, timezone.now())

    assert paused == "paused"
    assert "p99" in reason
    assert (state, rollout.wave) == ("running", 0)
    assert rollout.baking_since is not None
    assert rollout.baking_since > now


@pytest.mark.parametrize(("inconclusive", "stands"), [("roll_back", ("reverting", 0)), ("go_on", ("running", 1))])
def test_the_policy_says_what_no_data_does(
    rows: FleetRows, prometheus: ScriptedPrometheus, now: datetime, inconclusive: str, stands: tuple[str, int]
) -> None:
    says(prometheus, p99_ms=None)
    rollout = baking(rows, now=now, inconclusive=inconclusive)
    age(rollout, 61)

    look(rollout, timezone.now())

    assert (rollout.state, rollout.wave) == stands
    assert selectors.ban_on(rollout.placement, rows.versions["digits", 2]) is None


def test_a_prometheus_that_does_not_answer_is_never_a_pass(
    rows: FleetRows, prometheus: ScriptedPrometheus, now: datetime
) -> None:
    prometheus.says(500, {"status": "error"})
    rollout = baking(rows, now=now, gates=[{**GATE, "error_limit": 2}])
    age(rollout, 61)
    first = look(rollout, timezone.now())
    Rollout.objects.filter(pk=rollout.pk).update(judge_at=timezone.now())
    age(rollout, 6)

    second = look(rollout, timezone.now())

    assert [one.verdict for one in selectors.judgements_of(rollout.pk)] == ["error", "error"]
    assert (first, second) == ("running", "paused")


def test_a_skipped_gate_is_not_asked_and_the_audit_knows_who(
    rows: FleetRows, prometheus: ScriptedPrometheus, now: datetime
) -> None:
    says(prometheus, p99_ms=180)
    rollout = baking(rows, now=now)

    services.skip_gate(COMMAND, rollout=rollout.pk, gate="p99", reason="known to be slow today")
    age(rollout, 61)
    look(rollout, timezone.now())

    assert (rollout.state, rollout.wave) == ("running", 1)
    assert selectors.judgements_of(rollout.pk).count() == 0
    event = audit.events(subject=str(rollout.pk)).filter(verb="skip_gate").get()
    assert (event.reason, event.detail["gate"]) == ("known to be slow today", "p99")


def test_a_gate_that_fails_while_paused_still_rolls_back(
    rows: FleetRows, prometheus: ScriptedPrometheus, now: datetime
) -> None:
    says(prometheus, p99_ms=180)
    rollout = baking(rows, now=now)
    services.pause(COMMAND, rollout=rollout.pk, reason="lunch")

    assert look(rollout, now) == "reverting"


def gates_named(*names: str) -> Policy:
    return Policy.parse(
        {"bake_s": 60, "gates": [GATE | {"name": name, "failure_limit": 9, "error_limit": 3} for name in names]}
    )


def test_the_newest_look_at_a_gate_is_known_however_often_the_others_are_judged(rows: FleetRows, now: datetime) -> None:
    rollout = baking(rows, now=now)
    told = {"rollout": rollout, "value": 1.0}
    Judgement.objects.create(gate="seldom", verdict="fail", wave=0, at=now, **told)
    Judgement.objects.create(gate="seldom", verdict="pass", wave=1, at=now, **told)
    Judgement.objects.bulk_create(
        Judgement(gate="often", verdict="pass", wave=1, at=now + timedelta(seconds=second), **told)
        for second in range(300)
    )

    newest = selectors.latest_judgements(rollout, gates_named("often", "never", "seldom"))

    assert {gate: one.verdict for gate, one in newest.items()} == {"seldom": "pass", "often": "pass"}
    assert newest["often"].at == now + timedelta(seconds=299)


def test_of_a_long_bake_only_the_looks_that_decide_are_read(rows: FleetRows, now: datetime) -> None:
    rollout = baking(rows, now=now)
    verdicts = ["fail", *["pass"] * 50, "fail", *["error"] * 20]
    Judgement.objects.bulk_create(
        Judgement(rollout=rollout, gate=gate, wave=wave, verdict=verdict, at=now - timedelta(seconds=99 - second))
        for second, verdict in enumerate(verdicts)
        for gate, wave in (("p99", 0), ("other", 0), ("p99", 1))
    )

    seen = looks(rollout, gates_named("p99").gates)["p99"]

    assert [look.verdict for look in seen] == ["fail", "fail", "error", "error", "error"]
    assert [look.at for look in seen[2:]] == [now - timedelta(seconds=99 - second) for second in (69, 70, 71)]


def test_a_message_delivered_twice_judges_once(rows: FleetRows, prometheus: ScriptedPrometheus, now: datetime) -> None:
    says(prometheus, p99_ms=41)
    rollout = baking(rows, now=now)

    judging.judge_rollout(rollout.pk, now=now)
    judging.judge_rollout(rollout.pk, now=now)

    assert selectors.judgements_of(rollout.pk).count() == 1


def test_a_worker_killed_while_asking_costs_one_look_and_no_judgement(
    rows: FleetRows, prometheus: ScriptedPrometheus, now: datetime
) -> None:
    says(prometheus, p99_ms=41)
    rollout = baking(rows, now=now)
    lost = services.claim_look(rollout.pk, now=now)

    meanwhile = selectors.due_judgements(now)
    later = now + timedelta(seconds=61)
    judging.judge_rollout(rollout.pk, now=later)

    assert lost is not None
    assert meanwhile == []
    assert selectors.judgements_of(rollout.pk).count() == 1
    services.keep_judgements(lost, [], now=later)
    assert selectors.judgements_of(rollout.pk).count() == 1


def test_a_model_that_promises_nothing_passes_its_objective_unasked(
    rows: FleetRows, prometheus: ScriptedPrometheus, now: datetime
) -> None:
    says(prometheus, p99_ms=180)
    rows.models["digits"].slo_p99_ms = None
    rows.models["digits"].save()
    rollout = baking(rows, now=now, gates=[{"name": "p99", "signal": "latency_quantile", "against": "objective"}])
    look(rollout, now)
    age(rollout, 61)
    look(rollout, timezone.now())

    assert [one.verdict for one in selectors.judgements_of(rollout.pk)] == ["does_not_apply"]
    assert rollout.wave == 1


def test_nothing_is_judged_in_a_policy_without_gates(rows: FleetRows, now: datetime) -> None:
    rollout = baking(rows, now=now, gates=[])

    assert rollout.judge_at is None
    assert services.claim_look(rollout.pk, now=now) is None


@pytest.mark.parametrize(
    ("labels", "verdict"),
    [
        ({"version": "1"}, "error"),
        ({"version": "2", "model": "another"}, "error"),
        ({"version": "2", "server": "prod-9"}, "inconclusive"),
        ({"version": "2", "server": "prod-1"}, "pass"),
    ],
    ids=["another version", "another model", "another server", "what was asked for"],
)
def test_an_answer_about_something_else_is_never_a_pass(
    rows: FleetRows, prometheus: ScriptedPrometheus, now: datetime, labels: dict[str, str], verdict: str
) -> None:
    says(prometheus, p99_ms=41)
    told = prometheus.answer
    assert told is not None

    def answer(asked: Asked) -> Any:
        about = told(asked)["data"]["result"] if "(up{" in asked.parameters["query"] else []
        at = float(asked.parameters["start"])
        return _matrix(
            [(one["metric"], one["values"]) for one in about] or [({**labels, "quantile": "0.99"}, [[at, "41"]])]
        )

    prometheus.answer = answer
    rollout = baking(rows, now=now)

    look(rollout, now)

    assert selectors.judgements_of(rollout.pk)[0].verdict == verdict
