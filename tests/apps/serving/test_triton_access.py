"""Servers that do not take control requests, or want a key for them; and what a server says of itself."""

import shutil
import urllib.error
import urllib.request

import pytest

from apps.serving.errors import ControlRefused, LoadRefused, NotExplicit
from apps.serving.protocol import ControlMode, ServingBackend
from demo.parts.triton import Triton
from tests.apps.serving.conftest import backend_of, effective, link_shadow, load, wait_for
from tests.factories.triton_models import TRIVIAL, ask, python_model
from tests.fixtures.tritons import StartTriton


@pytest.fixture(scope="module")
def restricted(start_triton: StartTriton) -> Triton:
    server: Triton = start_triton("restricted-1", restricted_key="conch-control=s3cret")
    return server


def test_a_triton_says_who_it_is(backend: ServingBackend) -> None:
    info = backend.describe()

    assert info.name == "triton"
    assert info.version.startswith("2.")
    assert "model_repository(unload_dependents)" in info.extensions


def test_asking_for_the_control_mode_changes_nothing(backend: ServingBackend) -> None:
    before = backend.index()

    mode = backend.control_mode()

    assert mode == ControlMode.EXPLICIT
    assert backend.index() == before
    assert backend.is_server_ready()


@pytest.mark.parametrize("mode", ["none", "poll"])
def test_a_server_in_another_mode_refuses_control(start_triton: StartTriton, mode: str) -> None:
    backend = backend_of(start_triton(f"{mode}-1", control_mode=mode))

    assert backend.control_mode() == ControlMode.NONE_OR_POLL
    with pytest.raises(NotExplicit, match=f"{mode}-1: loading 'digits'") as refused:
        backend.load("digits", timeout_s=10)
    with pytest.raises(NotExplicit):
        backend.unload("digits", timeout_s=10)
    assert "--model-control-mode=explicit" in refused.value.hint


@pytest.mark.parametrize(
    "key",
    [
        {},
        {"control_key": "conch-control", "control_value": "wrong"},
        {"control_key": "other", "control_value": "s3cret"},
        {"control_key": "conch-control", "control_value": "not\nsendable"},
        {"control_key": "not sendable", "control_value": "s3cret"},
    ],
)
def test_a_restricted_server_refuses_a_missing_or_wrong_key(restricted: Triton, key: dict[str, str]) -> None:
    backend = backend_of(restricted, **key)

    for control in (backend.index, backend.control_mode):
        with pytest.raises(ControlRefused, match="restricted-1: "):
            control()
    with pytest.raises(ControlRefused):
        backend.load("digits", timeout_s=10)
    with pytest.raises(ControlRefused):
        backend.unload("digits", timeout_s=10)


def test_no_refusal_repeats_the_key(restricted: Triton) -> None:
    backend = backend_of(restricted, control_key="conch-control", control_value="n0t-the-key")

    with pytest.raises(ControlRefused) as refused:
        backend.index()

    assert "n0t-the-key" not in refused.value.message + repr(refused.value.facts) + repr(backend)


@pytest.mark.parametrize("spelling", ["conch-control", "Conch-Control"])
def test_a_restricted_server_takes_the_right_key(restricted: Triton, spelling: str) -> None:
    name = f"keyed-{spelling}"
    python_model(restricted.repository, name, 1)
    backend = backend_of(restricted, control_key=spelling, control_value="s3cret")

    load(backend, name, 1)

    assert backend.control_mode() == ControlMode.EXPLICIT
    assert ask(backend, name).version == 1


def test_a_failed_shadow_is_cured_by_an_inline_load_under_its_name(start_triton: StartTriton) -> None:
    server = start_triton("strict-1", strict_readiness=True)
    backend = backend_of(server)
    python_model(server.repository, "digits", 2, initialize='raise RuntimeError("no gpu")')
    shadow = link_shadow(server.repository, "digits", 2)
    with pytest.raises(LoadRefused):
        load(backend, shadow, 2, is_warmed=False)
    shutil.rmtree(server.repository / shadow)
    assert not backend.is_server_ready()
    assert _http_ready(server) == 400

    backend.load(shadow, config=effective(shadow, 2, is_warmed=False), files={"2/model.py": TRIVIAL}, timeout_s=60)
    backend.unload(shadow, timeout_s=10)

    wait_for(lambda: not backend.is_ready(shadow, 2))
    wait_for(backend.is_server_ready)
    assert _http_ready(server) == 200


def test_a_readiness_that_was_told_lately_holds_until_the_index_is_another(start_triton: StartTriton) -> None:
    server = start_triton("strict-2", strict_readiness=True)
    backend = backend_of(server)
    python_model(server.repository, "broken", 1, initialize='raise RuntimeError("no gpu")')
    backend.index()
    before = backend.is_server_ready(at_most_s_old=60)
    with pytest.raises(LoadRefused):
        load(backend, "broken", 1, is_warmed=False)

    kept = backend.is_server_ready(at_most_s_old=60)
    backend.index()

    assert (before, kept) == (True, True)
    assert not backend.is_server_ready(at_most_s_old=60)


def _http_ready(server: Triton) -> int:
    try:
        with urllib.request.urlopen(f"http://{server.http}/v2/health/ready", timeout=5) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code
