"""Adding a server: it is asked who it is, and the answer says what is wrong, or that all is well."""

import os
import socket
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from apps.audit.models import Event
from apps.common.actor import COMMAND
from apps.fleet import connecting, selectors, services
from apps.fleet.models import Server
from tests.factories.triton_models import python_model
from tests.fixtures.tritons import StartTriton

pytestmark = [pytest.mark.live, pytest.mark.django_db(transaction=True)]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory that this file's Tritons read."""
    root = tmp_path_factory.mktemp("shared") / "models"
    root.mkdir()
    python_model(root, "echo", 1, config=True)
    return root


@pytest.fixture(scope="module")
def explicit(start_triton: StartTriton, models: Path) -> Any:
    return start_triton("explicit", repository=models)


@pytest.fixture(scope="module")
def guarded(start_triton: StartTriton, models: Path) -> Any:
    return start_triton("guarded", repository=models, restricted_key="key=secret")


@pytest.fixture(scope="module")
def unmanaged(start_triton: StartTriton, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return start_triton("unmanaged", repository=tmp_path_factory.mktemp("none") / "models", control_mode="none")


@pytest.fixture
def nobody() -> Iterator[str]:
    """An address where nobody listens."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{held.getsockname()[1]}"


@pytest.fixture
def stranger() -> Iterator[str]:
    """Something that answers, but not as a Triton does."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=_greet, args=(listener,), daemon=True).start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)


def _greet(listener: socket.socket) -> None:
    while True:
        try:
            peer, _ = listener.accept()
        except OSError:
            return
        with peer:
            peer.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")


def introduce(path: Path, grpc: str, **fields: Any) -> Server:
    """One server of one environment whose repository is `path`, asked who it is."""
    services.add_environment(COMMAND, name="staging")
    services.add_repository(COMMAND, name="staging", environment="staging", path=str(path))
    server = services.add_server(COMMAND, name="one", environment="staging", repository="staging", grpc=grpc, **fields)
    services.introduce(server.pk, now=timezone.now())
    return selectors.get_server("one")


def test_a_good_server_is_active_observed_and_says_who_it_is(explicit: Any, models: Path) -> None:
    server = introduce(models, explicit.grpc)

    assert (server.state, server.finding["server_name"], server.finding["control_mode"]) == (
        "active",
        "triton",
        "explicit",
    )
    assert (server.finding["models"], server.finding["loaded"], server.finding["warnings"]) == (1, 0, [])
    assert (server.observation.is_reachable, server.observation.server_version) == (True, server.finding["version"])
    assert os.listdir(models) == ["echo"]
    assert Event.objects.filter(verb="server_active", subject="one").count() == 1


def test_what_vanishes_while_the_server_lists_its_repository_refuses_nobody(explicit: Any, models: Path) -> None:
    vanishing = models / ".conch-a"
    vanishing.symlink_to("nowhere")
    gone = threading.Timer(0.1, vanishing.unlink)

    gone.start()
    server = introduce(models, explicit.grpc)
    gone.join()

    assert (server.state, server.finding.get("message")) == ("active", None)


def test_the_right_key_opens_a_guarded_server(guarded: Any, models: Path) -> None:
    server = introduce(models, guarded.grpc, control_key="key", control_value="secret")

    assert (server.state, server.finding["loaded"]) == ("active", 0)


@pytest.mark.parametrize("key", [{}, {"control_key": "key", "control_value": "wrong"}])
def test_a_missing_or_wrong_key_is_said(key: dict[str, str], guarded: Any, models: Path) -> None:
    server = introduce(models, guarded.grpc, **key)

    assert (server.state, server.finding["code"]) == ("refused", "control_refused")
    assert "key" in server.finding["hint"]


def test_a_server_that_takes_no_loads_is_said(unmanaged: Any) -> None:
    server = introduce(unmanaged.repository, unmanaged.grpc)

    assert (server.state, server.finding["code"]) == ("refused", "not_explicit")
    assert "--model-control-mode=explicit" in server.finding["hint"]


def test_nobody_there_is_said(nobody: str, root: Path) -> None:
    server = introduce(root, nobody)

    assert (server.state, server.finding["code"]) == ("refused", "server_unreachable")


def test_something_else_there_is_said(stranger: str, root: Path) -> None:
    server = introduce(root, stranger)

    assert (server.state, server.finding["code"]) == ("refused", "not_an_inference_server")


def test_the_http_port_in_place_of_the_grpc_port_is_said(explicit: Any, models: Path) -> None:
    server = introduce(models, explicit.http)

    assert (server.state, server.finding["code"]) == ("refused", "not_an_inference_server")


def test_another_directory_is_said_even_with_the_same_models_in_it(explicit: Any, root: Path) -> None:
    python_model(root, "echo", 1, config=True)

    server = introduce(root, explicit.grpc)

    assert (server.state, server.finding["code"]) == ("refused", "repository_differs")
    assert os.listdir(root) == ["echo"]


def test_another_directory_is_said_with_what_differs(explicit: Any, root: Path) -> None:
    python_model(root, "other", 1)

    server = introduce(root, explicit.grpc)

    message = server.finding["message"]
    assert ("not in its index (other)" in message, "does not have (echo)" in message) == (True, True), message


def test_a_directory_that_is_not_there_is_said(explicit: Any, tmp_path: Path) -> None:
    server = introduce(tmp_path / "nowhere", explicit.grpc)

    assert (server.state, server.finding["code"]) == ("refused", "repository_missing")


def test_a_strict_server_with_a_failed_model_warns_and_says_why(
    start_triton: StartTriton, tmp_path_factory: pytest.TempPathFactory
) -> None:
    triton = start_triton("strict", strict_readiness=True)
    python_model(triton.repository, "bad", 1, initialize="raise RuntimeError('no')", config=True)
    server = introduce(triton.repository, triton.grpc)
    fine = server.finding["warnings"]

    with pytest.raises(Exception, match="no"):
        connecting.connect(server).load("bad", timeout_s=20)
    Server.objects.filter(pk=server.pk).update(state="refused")
    services.recheck_server(COMMAND, name="one")
    services.introduce(server.pk, now=timezone.now())

    warned = selectors.get_server("one").finding["warnings"]
    assert (fine, len(warned), "--strict-readiness=false" in warned[0]) == ([], 1, True)


def test_a_refused_server_is_asked_again_when_told_to(explicit: Any, models: Path, nobody: str) -> None:
    server = introduce(models, nobody)
    Server.objects.filter(pk=server.pk).update(grpc=explicit.grpc)

    checking = services.recheck_server(COMMAND, name="one")
    services.introduce(server.pk, now=timezone.now())

    assert (checking.state, selectors.get_server("one").state) == ("checking", "active")


def test_a_check_that_another_worker_holds_is_left_to_it_until_it_is_due(explicit: Any, models: Path) -> None:
    now = timezone.now()
    server = introduce(models, explicit.grpc)
    Server.objects.filter(pk=server.pk).update(state="checking", lease_until=now + timedelta(seconds=5))

    services.introduce(server.pk, now=now)
    held = selectors.get_server("one").state
    due = [services.sweep_servers(now + timedelta(seconds=later)) for later in (0, 6)]
    services.introduce(server.pk, now=now + timedelta(seconds=6))

    assert (held, due, selectors.get_server("one").state) == ("checking", [[], [server.pk]], "active")
