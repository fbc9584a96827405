"""The Dockerfile holds what the code needs, and nothing that must stay out."""

import re
from typing import Any

from django.conf import settings

from demo.bootstrap import UV_VERSION
from tests.docs import compose, documents
from tests.docs.compose import Service

DOCKERFILE = documents.text("Dockerfile")


def test_everything_that_is_copied_exists_and_is_let_through() -> None:
    let_in = set(re.findall(r"^!(.+)$", documents.text(".dockerignore"), re.MULTILINE))

    copied = set(compose.copied())

    assert copied == let_in
    assert [name for name in copied if not (documents.ROOT / name).exists()] == []


def test_everything_is_left_out_that_is_not_let_in() -> None:
    lines = [line for line in documents.text(".dockerignore").splitlines() if line and not line.startswith("#")]

    assert lines[0] == "*"
    assert not any(line.startswith("!.") for line in lines)


def test_secrets_are_kept_out_of_version_control() -> None:
    assert ".env" in documents.text(".gitignore").splitlines()


def test_every_package_of_ours_that_the_settings_name_is_in_the_image() -> None:
    named = {*settings.INSTALLED_APPS, settings.ROOT_URLCONF, settings.WSGI_APPLICATION, "worker.tasks"}
    ours = {name.split(".")[0] for name in named if (documents.ROOT / name.split(".")[0]).is_dir()}

    assert ours == {"apps", "controlplane", "worker"}
    assert ours <= set(compose.copied())


def test_static_files_and_templates_are_in_the_image() -> None:
    folders = {folder for folder in settings.STATICFILES_DIRS if not isinstance(folder, tuple)}
    pages: Any = settings.TEMPLATES[0]["DIRS"]

    copied = {documents.ROOT / name for name in compose.copied()}

    assert folders <= copied
    assert set(pages) <= copied
    assert "manage.py collectstatic --noinput" in DOCKERFILE


def test_the_base_is_pinned_and_new_enough() -> None:
    bases = re.findall(r"^FROM python:3\.(\d+)\.\d+-slim-bookworm", DOCKERFILE, re.MULTILINE)
    (oldest,) = re.findall(r'^requires-python = ">=3\.(\d+)"', documents.text("pyproject.toml"), re.MULTILINE)

    assert len(bases) == DOCKERFILE.count("FROM python:")
    assert len(set(bases)) == 1
    assert int(bases[0]) >= int(oldest)


def test_the_image_and_make_use_one_uv() -> None:
    assert f"uv=={UV_VERSION}" in DOCKERFILE
    assert "uv sync --frozen --no-dev" in DOCKERFILE


def test_conch_does_not_run_as_root() -> None:
    last = re.findall(r"^(USER|CMD|RUN|COPY) ?(.*)$", DOCKERFILE, re.MULTILINE)[-2:]

    assert last[0] == ("USER", "conch")
    assert last[1][0] == "CMD"


def test_every_volume_of_conch_gets_conch_as_its_owner(services: dict[str, Service]) -> None:
    mounted = {
        target
        for service in compose.of_conch(services).values()
        for source, (target, _) in compose.mounts(service).items()
        if source in compose.volumes()
    }

    assert mounted <= set(compose.owned_directories())


def test_the_job_that_runs_first_mounts_every_volume_of_conch(services: dict[str, Service]) -> None:
    by_others = {
        source
        for name in ("web", "worker", "beat", "prometheus", "triton")
        for source in compose.mounts(services[name])
        if source in compose.volumes()
    }

    assert by_others <= set(compose.mounts(services["bootstrap"]))
