"""A Prometheus behind a token, or of several tenants: who asks is told to it, and to nobody else."""

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from apps.metrics.answers import answers
from apps.metrics.credentials import Credentials
from apps.metrics.errors import PrometheusFailed, PrometheusRefusedConch, PrometheusTokenUnusable
from apps.metrics.prometheus import Prometheus
from apps.metrics.windows import Window
from controlplane import env
from tests.apps.metrics.doubles import ScriptedPrometheus, scripted_prometheus

WINDOW = Window(start_s=1_000, end_s=1_060, step_s=15)
TENANT = (("X-Scope-OrgID", "vision"),)
LONG = " or ".join(['up{server="a-rather-long-name"}'] * 100)


@pytest.fixture
def double() -> Iterator[ScriptedPrometheus]:
    with scripted_prometheus() as running:
        running.gives()
        yield running


@pytest.mark.parametrize("promql", ["up", LONG])
def test_token_and_tenant_arrive_however_the_query_is_sent(double: ScriptedPrometheus, promql: str) -> None:
    token = secrets.token_urlsafe()

    Prometheus(double.url, credentials=Credentials(token, headers=TENANT)).over(promql, WINDOW)

    sent = double.asked[0].headers
    assert (sent["Authorization"], sent["X-Scope-OrgID"]) == (f"Bearer {token}", "vision")


def test_a_renewed_token_file_is_read_for_the_next_question(double: ScriptedPrometheus, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("first\n")
    client = Prometheus(double.url, credentials=Credentials(token_file=str(file)))

    client.over("up", WINDOW)
    file.write_text("second\n")
    client.over("up", WINDOW)

    assert [one.headers["Authorization"] for one in double.asked] == ["Bearer first", "Bearer second"]


def test_the_settings_say_who_asks(double: ScriptedPrometheus, settings, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setenv("CONCH_PROMETHEUS_HEADERS", "X-Scope-OrgID=vision|audio, X-Team = ml")
    given = {"prometheus_token": "t0ken", "prometheus_headers": env.headers("CONCH_PROMETHEUS_HEADERS")}
    settings.CONCH = {**settings.CONCH, "prometheus_url": double.url, **given}

    answers().over("up", WINDOW)

    sent = double.asked[0].headers
    assert (sent["Authorization"], sent["X-Scope-OrgID"], sent["X-Team"]) == ("Bearer t0ken", "vision|audio", "ml")


@pytest.mark.parametrize(
    "given", ["X-Scope-OrgID", "X Scope=vision", "X-Scope:=vision", "X-Ünit=a", "X-Scope-OrgID=büro", "X-Team=a\x07b"]
)
def test_what_cannot_be_sent_as_a_header_is_refused_at_the_start(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONCH_PROMETHEUS_HEADERS", given)

    with pytest.raises(ImproperlyConfigured, match="CONCH_PROMETHEUS_HEADERS is not a list of NAME=value"):
        env.headers("CONCH_PROMETHEUS_HEADERS")


def test_a_redirect_takes_neither_token_nor_tenant_elsewhere(double: ScriptedPrometheus) -> None:
    with scripted_prometheus() as elsewhere:
        elsewhere.gives()
        double.leads_to = elsewhere.url

        Prometheus(double.url, credentials=Credentials("t0ken", headers=TENANT)).over("up", WINDOW)

        assert double.asked[0].headers.keys() >= {"Authorization", "X-Scope-OrgID"}
        assert elsewhere.asked[0].headers.keys().isdisjoint({"Authorization", "X-Scope-OrgID"})


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (401, b"<html>Please sign in</html>", "(401 Unauthorized)"),
        (403, {"status": "error", "errorType": "forbidden", "error": "no org id"}, "(403 Forbidden: no org id)"),
        (401, {"error": "unknown token t0ken"}, "(401 Unauthorized: unknown token [token])"),
    ],
)
def test_a_refusal_says_what_to_check_and_never_the_token(status: int, body: object, words: str) -> None:
    with scripted_prometheus() as double:
        double.says(status, body)

        with pytest.raises(PrometheusRefusedConch) as caught:
            Prometheus(double.url, credentials=Credentials("t0ken")).over("up", WINDOW)

    assert caught.value.message.startswith(f"Prometheus refused Conch {words}. Check CONCH_PROMETHEUS_TOKEN")
    assert "t0ken" not in caught.value.message
    assert len(double.asked) == 1


@pytest.mark.parametrize(
    ("status", "document"),
    [
        (400, {"status": "error", "errorType": "bad_data", "error": "no Bearer t0ken here"}),
        (404, {"error": "t0ken"}),
        (500, {"status": "error", "error": f"{'x' * 297}t0ken"}),
        (503, {"status": "error", "errorType": "timeout", "error": "t0ken"}),
    ],
)
def test_no_other_answer_tells_the_token_that_was_sent(status: int, document: object, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("t0ken")
    with scripted_prometheus() as double:
        double.says(status, document)

        with pytest.raises(PrometheusFailed) as caught:
            Prometheus(double.url, credentials=Credentials(token_file=str(file))).over("up", WINDOW)

    assert "t0" not in f"{caught.value.message} {caught.value.facts}"


def test_a_warning_does_not_tell_the_token_either() -> None:
    data = {"resultType": "matrix", "result": []}
    with scripted_prometheus() as double:
        double.says(200, {"status": "success", "data": data, "warnings": ["t0ken expires"]})

        reply = Prometheus(double.url, credentials=Credentials("t0ken")).over("up", WINDOW)

    assert reply.warnings == ("[token] expires",)


@pytest.mark.parametrize(("content", "why"), [(b"", "is empty"), (b"two words", "spaces"), (b"\xff\xfe", "not text")])
def test_a_file_that_holds_no_token_is_said_and_nothing_asked(
    double: ScriptedPrometheus, tmp_path: Path, content: bytes, why: str
) -> None:
    file = tmp_path / "token"
    file.write_bytes(content)

    with pytest.raises(PrometheusTokenUnusable, match=why) as caught:
        Prometheus(double.url, credentials=Credentials(token_file=str(file))).over("up", WINDOW)

    assert str(file) in caught.value.message
    assert double.asked == []


def test_a_token_file_that_is_not_there_is_named(double: ScriptedPrometheus, tmp_path: Path) -> None:
    with pytest.raises(PrometheusTokenUnusable, match=r"absent: no such file or directory"):
        Prometheus(double.url, credentials=Credentials(token_file=str(tmp_path / "absent"))).over("up", WINDOW)


def test_the_token_is_not_among_what_is_printed_or_logged() -> None:
    assert "t0ken" not in repr(Credentials("t0ken", headers=(("Authorization", "Basic t0ken"),)))
