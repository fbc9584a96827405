"""Nothing in the documents points into the void."""

import re
from pathlib import PurePosixPath

import pytest
from django.urls import resolve

from tests.docs import documents

MAKE = re.compile(r"\bmake ([a-z][a-z-]*)\b(?! sure)")
REST = re.compile(r"/api/v1/[A-Za-z0-9/_{}$-]+")
PICTURES = re.compile(r"""["(](?:docs/)?images/([^)"]+\.png)[")]""")
PROGRAMS = re.compile(
    r"`((?:compose|demo|worker|apps|controlplane|tests|docs|static|templates|\.ci)/[A-Za-z0-9_./-]*)`"
)


@pytest.mark.parametrize("document", documents.PAGES)
def test_every_link_leads_somewhere(document: str) -> None:
    here = (documents.ROOT / document).parent

    targets = [target.partition("#")[0] for target in documents.links(document)]

    assert [target for target in targets if target and not (here / target).exists()] == []


def test_every_picture_is_shown_somewhere_and_every_one_that_is_shown_is_there() -> None:
    shown = {name for page in documents.PAGES for name in PICTURES.findall(documents.text(page))}

    there = {file.name for file in (documents.ROOT / "docs" / "images").iterdir()}

    assert shown == there


@pytest.mark.parametrize("document", documents.PAGES)
def test_every_anchor_is_a_heading(document: str) -> None:
    inner = [target.partition("#") for target in documents.links(document) if "#" in target]
    folder = PurePosixPath(document).parent

    missing = [
        f"{other}#{anchor}"
        for other, _, anchor in inner
        if anchor not in documents.anchors(str(folder / other) if other else document)
    ]

    assert missing == []


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md", "docs/operations.md", "docs/architecture.md"])
def test_every_make_target_that_is_named_exists(document: str) -> None:
    in_code = re.findall(r"```.*?```|`[^`\n]+`", documents.text(document), re.DOTALL)
    named = {target for code in in_code for target in MAKE.findall(code)}

    targets = set(re.findall(r"^([a-z-]+):", documents.text("Makefile"), re.MULTILINE))

    assert named
    assert named <= targets


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md", "docs/operations.md", "docs/architecture.md"])
def test_every_file_that_is_named_exists(document: str) -> None:
    named = PROGRAMS.findall(documents.text(document))

    missing = [name for name in named if not (documents.ROOT / name).exists()]

    assert missing == []


@pytest.mark.parametrize("document", ["README.md", "docs/operations.md"])
def test_every_rest_path_that_is_named_is_served(document: str) -> None:
    paths = [re.sub(r"\$[a-z]+", "7", path) for path in REST.findall(documents.text(document))]

    # `$1` is the whole rest of a path: a shell function's own business.
    nowhere = [path for path in paths if not path.endswith("$1") and resolve(path).url_name == "nowhere"]

    assert paths
    assert nowhere == []


def test_the_pages_of_the_api_that_are_named_are_served() -> None:
    assert "/api/docs/" in documents.text("README.md")
    assert resolve("/api/docs/").url_name == "docs"
