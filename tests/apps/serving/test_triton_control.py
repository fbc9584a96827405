"""Load, promote, roll back, unload on a real Triton."""

import shutil

import pytest

from apps.common.names import BadName
from apps.serving.backends.triton.config import CONFIG
from apps.serving.errors import ConfigUnparsable, FailedToPoll, LoadRefused, ModelUnavailable
from apps.serving.protocol import Readiness, ServingBackend
from demo.parts.triton import Triton
from tests.apps.serving.conftest import (
    LOAD_WITHIN_S,
    effective,
    lines,
    link_shadow,
    load,
    load_settled,
    wait_unloaded,
)
from tests.factories.triton_models import TRIVIAL, ask, python_model


def test_a_version_loads_by_override_with_no_config_on_disk(triton: Triton, backend: ServingBackend) -> None:
    python_model(triton.repository, "bare", 1)

    load(backend, "bare", 1)

    assert backend.is_ready("bare", 1)
    assert ask(backend, "bare").version == 1
    assert lines(backend, "bare")[1].state == Readiness.READY


def test_a_model_never_loaded_has_a_name_and_no_state(triton: Triton, backend: ServingBackend) -> None:
    python_model(triton.repository, "idle", 1, config=True)

    entry = lines(backend, "idle")[None]

    assert entry.state == Readiness.UNKNOWN
    assert not backend.is_ready("idle", 1)


def test_the_warm_up_runs_before_the_version_is_ready(triton: Triton, backend: ServingBackend) -> None:
    python_model(triton.repository, "warm", 1)

    load(backend, "warm", 1)

    assert ask(backend, "warm").answered == 2


def test_going_up_and_back_restarts_nothing_after_a_shadow(triton: Triton, backend: ServingBackend) -> None:
    started_at: dict[int, float] = {}
    for version in (1, 2):
        python_model(triton.repository, "digits", version)
        shadow = link_shadow(triton.repository, "digits", version)
        load(backend, shadow, version, is_warmed=False)
        assert ask(backend, shadow).version == version
        backend.unload(shadow, timeout_s=10)
        wait_unloaded(backend, shadow, version)
        shutil.rmtree(triton.repository / shadow)
        load(backend, "digits", *range(1, version + 1))
        started_at[version] = ask(backend, "digits", version).started_at

    load(backend, "digits", 1)
    back = ask(backend, "digits")
    wait_unloaded(backend, "digits", 2)
    load(backend, "digits", 1, 2)
    load(backend, "digits", 2)
    wait_unloaded(backend, "digits", 1)
    last = ask(backend, "digits")

    assert (back.version, back.started_at) == (1, started_at[1])
    assert last.version == 2
    assert last.started_at > started_at[2]
    assert lines(backend, "digits")[1].reason == "unloaded"
    with pytest.raises(ModelUnavailable, match="'digits' 1"):
        ask(backend, "digits", 1)


def test_versions_switch_without_a_config_change_and_the_old_one_keeps_its_process(
    triton: Triton, backend: ServingBackend
) -> None:
    python_model(triton.repository, "steady", 1)
    load_settled(backend, "steady", 1)
    before = ask(backend, "steady", 1)
    python_model(triton.repository, "steady", 2)

    load(backend, "steady", 1, 2)

    assert ask(backend, "steady").version == 2
    assert ask(backend, "steady", 1).started_at == before.started_at


def test_a_written_config_is_what_the_server_comes_up_with_alone(triton: Triton, backend: ServingBackend) -> None:
    for version in (1, 2, 3):
        python_model(triton.repository, "kept", version)
    written = CONFIG.render(effective("kept", 1, 2))
    (triton.repository / "kept" / "config.pbtxt").write_text(written)

    backend.load("kept", timeout_s=LOAD_WITHIN_S)

    assert {version for version, line in lines(backend, "kept").items() if line.state == Readiness.READY} == {1, 2}
    assert ask(backend, "kept").answered == 2


def test_a_failed_load_says_why_and_leaves_the_old_version_serving(triton: Triton, backend: ServingBackend) -> None:
    python_model(triton.repository, "careful", 1)
    python_model(triton.repository, "careful", 2, initialize='raise RuntimeError("no gpu")')
    load_settled(backend, "careful", 1)
    before = ask(backend, "careful")

    with pytest.raises(LoadRefused, match=r"^staging-1: loading 'careful': .*RuntimeError: no gpu") as refused:
        load(backend, "careful", 1, 2)

    assert not isinstance(refused.value, FailedToPoll)
    assert "model.py" in refused.value.facts["reason"]
    assert (ask(backend, "careful").version, ask(backend, "careful").started_at) == (1, before.started_at)
    assert lines(backend, "careful")[2].state == Readiness.UNAVAILABLE
    assert "no gpu" in lines(backend, "careful")[2].reason


def test_a_megabyte_of_hostile_reason_arrives_whole_and_is_shown_cut_and_clean(
    triton: Triton, backend: ServingBackend
) -> None:
    words = r'raise RuntimeError("\x1b[31mred\x1b[0m <script>alert(1)</script> " + "x" * 1_000_000)'
    python_model(triton.repository, "chatty", 1, initialize=words)

    with pytest.raises(LoadRefused) as refused:
        load(backend, "chatty", 1)

    assert len(refused.value.facts["reason"]) > 1_000_000
    assert len(refused.value.message) < 3_000
    assert "\x1b" not in refused.value.message
    assert "\x1b" not in lines(backend, "chatty")[1].reason


@pytest.mark.parametrize("config", ["no_such_field: 1", 'name: "other" backend: "python"', "max_batch_size: ["])
def test_a_config_on_disk_that_the_server_cannot_read_is_failed_to_poll(
    triton: Triton, backend: ServingBackend, config: str
) -> None:
    name = f"unread{abs(hash(config))}"
    folder = python_model(triton.repository, name, 1)
    (folder.parent / "config.pbtxt").write_text(config)

    with pytest.raises(FailedToPoll, match=f"staging-1: loading '{name}'"):
        backend.load(name, timeout_s=LOAD_WITHIN_S)


def test_a_directory_that_is_not_there_is_failed_to_poll(backend: ServingBackend) -> None:
    with pytest.raises(FailedToPoll):
        load(backend, "nowhere", 1)


def test_unloading_nothing_is_no_error(backend: ServingBackend) -> None:
    backend.unload("never-was", timeout_s=10)

    assert lines(backend, "never-was") == {}


def test_bytes_delivered_in_the_load_call_serve_and_are_not_in_the_index(backend: ServingBackend) -> None:
    backend.load(
        "carried", config=effective("carried", 7, is_warmed=False), files={"7/model.py": TRIVIAL}, timeout_s=60
    )

    assert backend.is_ready("carried", 7)
    assert lines(backend, "carried") == {}


@pytest.mark.parametrize("name", ["../outside", "$(touch x)", "a b", "", ".hidden", "a;b", "x" * 129])
def test_no_odd_name_reaches_the_server(backend: ServingBackend, name: str) -> None:
    with pytest.raises(BadName):
        backend.load(name, timeout_s=1)
    with pytest.raises(BadName):
        backend.unload(name, timeout_s=1)
    with pytest.raises(BadName):
        backend.is_ready(name, 1)


def test_no_file_leaves_the_models_directory(backend: ServingBackend) -> None:
    with pytest.raises(BadName):
        backend.load("carried", config=effective("carried", 8), files={"../8/model.py": TRIVIAL}, timeout_s=1)


def test_no_override_that_ends_a_server_reaches_it(backend: ServingBackend) -> None:
    huge = effective("carried", 9)
    huge["model_warmup"][0]["inputs"]["x"]["dims"] = [2**31, 2**31, 2**31]

    with pytest.raises(ConfigUnparsable, match="the limit is 67,108,864"):
        backend.load("carried", config=huge, timeout_s=1)
    with pytest.raises(BadName, match="not between 0"):
        backend.load("carried", config=effective("carried", 10**20), timeout_s=1)
    with pytest.raises(ConfigUnparsable, match="names 'other'"):
        backend.load("carried", config=effective("other", 9), timeout_s=1)
