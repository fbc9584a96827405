"""What an upload may be."""

from collections.abc import Callable
from pathlib import Path

import pytest

from apps.registry import refusals
from apps.serving.errors import ConfigUnparsable
from tests.apps.registry.checking import check
from tests.apps.registry.conftest import files_under
from tests.factories.archives import (
    CONFIG,
    good,
    tarred,
    zipped,
)


@pytest.mark.parametrize("pack", [zipped, tarred])
@pytest.mark.parametrize("top", ["demo/", "", "./demo/", "other/"])
@pytest.mark.parametrize("version", ["1", "7", str(2**63 - 1)])
def test_a_model_directory_passes_packed_either_way_with_or_without_its_folder(
    pack: Callable[[list[tuple[str, str | bytes]]], bytes], top: str, version: str, tmp_path: Path
) -> None:
    content = pack(good(top=top, version=version))

    checked = check(content, tmp_path)

    assert files_under(checked.directory) == ["config.pbtxt", "version/model.py"]
    assert [line["path"] for line in checked.files] == ["config.pbtxt", "version/model.py"]
    assert checked.config_text == CONFIG


def test_what_lies_beside_the_version_is_shared_by_all_versions(tmp_path: Path) -> None:
    content = zipped([*good(), ("demo/labels.txt", "a"), ("demo/tokenizer/vocab.json", "{}")])

    checked = check(content, tmp_path)

    assert files_under(checked.directory / "shared") == ["labels.txt", "tokenizer/vocab.json"]
    assert checked.remarks == (
        "Shared by all versions of the model, as it lies beside the version: labels.txt, tokenizer.",
    )


def test_junk_is_dropped_and_said_so(tmp_path: Path) -> None:
    junk = ["__MACOSX/demo/._config.pbtxt", "demo/.DS_Store", "demo/1/__pycache__/model.cpython-311.pyc"]
    content = zipped([*good(), *((name, "x") for name in junk)])

    checked = check(content, tmp_path)

    assert files_under(checked.directory) == ["config.pbtxt", "version/model.py"]
    assert checked.remarks == (f"Left out, as no server needs them: {', '.join(junk)} (3 in all).",)


def test_what_differs_harmlessly_is_remarked(tmp_path: Path) -> None:
    config = CONFIG + "version_policy { latest { num_versions: 2 } }"

    checked = check(zipped(good(config, top="my-export/", version="3")), tmp_path, number=9)

    told = " ".join(checked.remarks)
    assert ("version_policy" in told, "'my-export'" in told, "directory is 3" in told) == (True, True, True)


def test_a_configuration_without_a_name_passes(tmp_path: Path) -> None:
    checked = check(zipped(good(CONFIG.replace('name: "demo"\n', ""))), tmp_path)

    assert checked.config.name == ""


def test_an_ensemble_may_have_an_empty_version_directory(tmp_path: Path) -> None:
    config = """\
platform: "ensemble"
input [ { name: "x" data_type: TYPE_FP32 dims: [ 4 ] } ]
output [ { name: "y" data_type: TYPE_FP32 dims: [ 4 ] } ]
ensemble_scheduling { step [ { model_name: "a" model_version: -1
  input_map { key: "x" value: "x" } output_map { key: "y" value: "y" } } ] }
"""
    checked = check(zipped([("config.pbtxt", config), ("1/", "")]), tmp_path)

    assert (checked.config.members, (checked.directory / "version").is_dir()) == (("a",), True)


@pytest.mark.parametrize(
    "line",
    [
        'parameters { key: "e" value { string_value: "$$TRITON_MODEL_DIRECTORY/${x}" } }',
        "# fill in ${nothing} and {{ nothing }}",
        "instance_group [ { kind: KIND_CPU count: 1 } ]",
    ],
)
def test_what_only_looks_like_a_placeholder_passes(line: str, tmp_path: Path) -> None:
    checked = check(zipped(good(CONFIG + line)), tmp_path)

    assert checked.config.name == "demo"


@pytest.mark.parametrize("line", ["instance_group [ { kind: GPU } ]", "dynamic_batching { preserve_ordering: TRUE }"])
def test_a_slip_in_capitals_is_no_placeholder(line: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigUnparsable) as refused:
        check(zipped(good(CONFIG + line)), tmp_path)

    assert "did you mean" in refused.value.message.lower()


def test_a_word_in_capitals_for_a_value_is_a_placeholder(tmp_path: Path) -> None:
    config = CONFIG.replace("TYPE_FP32", "DTYPE", 1)

    with pytest.raises(refusals.TemplateUnfilled, match="DTYPE"):
        check(zipped(good(config)), tmp_path)


@pytest.mark.parametrize("placeholder", ["{{ batch }}", "$batch", "@BATCH@", "{% if x %}", "<% batch %>"])
def test_a_placeholder_is_named_with_its_line(placeholder: str, tmp_path: Path) -> None:
    config = CONFIG.replace("max_batch_size: 8", f"max_batch_size: {placeholder}")

    with pytest.raises(refusals.TemplateUnfilled) as refused:
        check(zipped(good(config)), tmp_path)

    assert (refused.value.facts["line"], repr(placeholder) in refused.value.message) == (3, True)
