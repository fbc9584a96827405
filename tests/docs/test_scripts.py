"""The scripts in compose/ do what docker-compose.yml relies on."""

import os
import stat
import subprocess
from pathlib import Path

import pytest

from demo.parts.triton import models_in
from tests.docs import documents
from tests.docs.documents import ROOT


@pytest.fixture
def tritonserver(tmp_path: Path) -> dict[str, str]:
    """A PATH whose tritonserver prints what it was started with, one word a line."""
    program = tmp_path / "bin" / "tritonserver"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    program.chmod(0o755)
    return {"PATH": f"{program.parent}:{os.environ['PATH']}"}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Two persisted models, and everything that is not one."""
    root = tmp_path / "models" / "prod"
    for name in ("digits/2", "bert-qa/1", "published-only/1", "digits.shadow/3", "config-only"):
        (root / name).mkdir(parents=True)
    for name in ("digits", "bert-qa", "digits.shadow", "config-only"):
        (root / name / "config.pbtxt").write_text("")
    return root


@pytest.fixture
def refusing_curl(tmp_path: Path) -> dict[str, str]:
    """A PATH whose curl is answered with a refusal, as --fail-with-body shows one."""
    program = tmp_path / "bin" / "curl"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho \'{"code": "upload_too_large"}\'\nexit 22\n')
    program.chmod(0o755)
    return {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}", "CONCH_TOKEN": "x", "CONCH_URL": "http://x"}


def started(repository: Path, environment: dict[str, str], *options: str) -> list[str]:
    done = subprocess.run(
        [ROOT / "compose" / "start-triton", repository, *options],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


def test_triton_is_started_with_what_conch_has_persisted(tritonserver: dict[str, str], repository: Path) -> None:
    words = started(repository, tritonserver)

    loaded = [word.partition("=")[2] for word in words if word.startswith("--load-model=")]
    assert loaded == ["bert-qa", "digits"]
    assert loaded == models_in(repository)


def test_triton_is_started_with_nothing_where_nothing_is(tritonserver: dict[str, str], tmp_path: Path) -> None:
    words = started(tmp_path, tritonserver)

    assert [word for word in words if word.startswith("--load-model")] == []


def test_triton_is_started_as_conch_needs_it(tritonserver: dict[str, str], repository: Path) -> None:
    words = started(repository, tritonserver, "--http-port=8100")

    assert f"--model-repository={repository}" in words
    assert {"--model-control-mode=explicit", "--strict-readiness=false", "--exit-on-error=false"} <= set(words)
    assert words[-1] == "--http-port=8100"


def test_the_secrets_file_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    file = tmp_path / ".env"

    subprocess.run([ROOT / "compose" / "make-env", file], check=True, capture_output=True)

    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_secrets_that_are_there_are_never_overwritten(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text("CONCH_SECRET_KEY=old\n")

    done = subprocess.run([ROOT / "compose" / "make-env", file], capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert file.read_text() == "CONCH_SECRET_KEY=old\n"


@pytest.mark.parametrize(("page", "heading"), [("README.md", "From CI"), ("docs/api.md", "A pipeline")])
def test_the_pipeline_that_is_shown_ends_at_a_refusal_and_says_why(
    page: str, heading: str, refusing_curl: dict[str, str], tmp_path: Path
) -> None:
    script = documents.section(page, heading).split("```sh\n", 1)[1].split("```", 1)[0]

    environment = {**refusing_curl, "COMMIT": "abc", "BUILD": "1"}
    done = subprocess.run(
        ["bash", "-c", script], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert done.returncode == 1
    assert "upload_too_large" in done.stderr
