"""Each way in which an upload may not be."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from apps.common.errors import ControlPlaneError
from apps.registry import refusals
from apps.registry.intake import Limits
from apps.serving.errors import ConfigUnparsable
from tests.apps.registry.checking import TIGHT, check
from tests.apps.registry.hostile import LOOK_ALIKES, REFUSED
from tests.factories.archives import (
    CONFIG,
    MODEL_PY,
    Entry,
    good,
    tarred,
    zipped,
)


@pytest.mark.parametrize(("refusal", "make", "names"), REFUSED)
def test_a_bad_upload_is_refused_by_class_and_named(
    refusal: type[ControlPlaneError], make: Callable[[], bytes], names: str, tmp_path: Path
) -> None:
    content = make()

    with pytest.raises(ControlPlaneError) as refused:
        check(content, tmp_path, limits=TIGHT)

    assert (type(refused.value), names in refused.value.message) == (refusal, True), refused.value.message


def test_every_refusal_has_a_case_a_code_of_its_own_and_a_way_out() -> None:
    every: list[type[ControlPlaneError]] = [
        kind for kind in vars(refusals).values() if isinstance(kind, type) and issubclass(kind, refusals.Refused)
    ]
    bases: set[type[ControlPlaneError]] = {refusals.Refused, refusals.RefusedEntry}
    raised = set(every) - bases

    assert raised == {kind for kind, _, _ in REFUSED} - {ConfigUnparsable}
    assert len({kind.code for kind in raised}) == len(raised)
    assert {kind.title for kind in raised}.isdisjoint({"", refusals.Refused.title})


def test_there_are_at_least_sixty_hostile_or_broken_archives_and_no_two_are_the_same() -> None:
    contents = {make() for _, make, _ in REFUSED}

    assert len(contents) == len(REFUSED) >= 60


@pytest.mark.parametrize("name", LOOK_ALIKES)
def test_a_directory_a_server_would_misread_as_a_version_is_refused_by_name(name: str, tmp_path: Path) -> None:
    content = zipped([*good(), (f"demo/{name}/model.py", MODEL_PY)])

    with pytest.raises(refusals.VersionLookAlike, match=name.replace("+", r"\+")):
        check(content, tmp_path)


def test_a_file_of_zeros_is_no_bomb(tmp_path: Path) -> None:
    weights = bytes(2 << 20)

    checked = check(zipped([*good(), ("demo/1/weights.bin", weights)]), tmp_path)

    assert checked.unpacked_bytes == len(weights) + len(CONFIG) + len(MODEL_PY)


@pytest.mark.parametrize("pack", [zipped, tarred])
def test_far_more_than_was_sent_is_a_bomb_and_leaves_no_more_than_is_free(
    pack: Callable[[list[Entry]], bytes], tmp_path: Path
) -> None:
    content = pack([*good(), ("demo/1/weights.bin", bytes(8 << 20))])
    limits = Limits(entries=100, unpacked_bytes=64 << 20, ratio=200, free_bytes=3 << 20)

    with pytest.raises(refusals.RatioTooHigh, match="3,145,728 bytes") as refused:
        check(content, tmp_path, limits=limits)

    assert refused.value.facts["limit"] == 200
    assert sum(file.stat().st_size for file in (tmp_path / "staging").rglob("*.bin")) <= 3 << 20


def test_zeros_among_real_weights_are_no_bomb(tmp_path: Path) -> None:
    real = random.Random(7).randbytes(100_000)
    content = zipped([*good(), ("demo/1/real.bin", real), ("demo/1/zeros.bin", bytes(8 << 20))])
    limits = Limits(entries=100, unpacked_bytes=64 << 20, ratio=200, free_bytes=1 << 20)

    assert check(content, tmp_path, limits=limits).unpacked_bytes > 8 << 20


def test_without_a_ratio_only_the_total_counts() -> None:
    assert Limits(entries=1, unpacked_bytes=1 << 40).of(1) == 1 << 40
    assert Limits(entries=1, unpacked_bytes=1 << 40, ratio=200).of(1) == 100 << 20
    assert Limits(entries=1, unpacked_bytes=1 << 40, ratio=200).of(1 << 30) == 200 << 30


@pytest.mark.parametrize("pack", [zipped, tarred])
def test_an_archive_cut_anywhere_is_refused(
    pack: Callable[[list[tuple[str, str | bytes]]], bytes], tmp_path: Path
) -> None:
    content = pack(good())
    accepted = []

    for kept in range(0, len(content), 7):
        (tmp_path / str(kept)).mkdir()
        try:
            accepted.append(check(content[:kept], tmp_path / str(kept)))
        except refusals.Refused:
            continue

    assert accepted == []
