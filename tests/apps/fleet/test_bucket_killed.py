"""A bucket between any two requests of a publisher that is killed; who may not write; bytes that come out otherwise."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from pytest_django import Settings

from apps.common import s3
from apps.fleet.errors import BucketRefused, RepositoryBroken, UploadDamaged
from apps.fleet.repositories.s3 import Bucket
from tests.apps.fleet.test_bucket import WHOLE, Ground
from tests.fixtures.s3 import BUCKET, client_of, s3_server

MOST = 60
_prefixes = count(1)
Begin = Callable[[], Ground]


@pytest.fixture(scope="module")
def found() -> Iterator[dict[str, str]]:
    with s3_server() as told:
        yield told


@pytest.fixture
def begin(found: dict[str, str], settings: Settings, tmp_path: Path) -> Begin:
    """A repository at a prefix of its own, each time."""
    settings.CONCH = {**settings.CONCH, "s3": found}

    def begin() -> Ground:
        prefix = f"killed/{next(_prefixes)}"
        return Ground(Bucket(f"s3://{BUCKET}/{prefix}", {}), client_of(found), prefix, tmp_path)

    return begin


@contextmanager
def dead_from(number: int) -> Iterator[list[str]]:
    """From that request on none leaves the process: what a bucket sees of a publisher that is killed before it."""
    sent: list[str] = []

    def pass_or_die(event_name: str, **_: Any) -> None:
        sent.append(event_name)
        if len(sent) >= number:
            raise ConnectionError("killed")

    events = s3.client().meta.events
    events.register("before-send.s3", pass_or_die, unique_id="killed")
    try:
        yield sent
    finally:
        events.unregister("before-send.s3", unique_id="killed")


def killed_everywhere(act: Callable[[Ground], object], begin: Begin) -> Iterator[Ground]:
    """The repository after each kill, one request later each time, until the work comes to its end."""
    for number in range(1, MOST):
        ground = begin()
        was_killed = False
        with dead_from(number) as sent:
            try:
                act(ground)
            except RepositoryBroken:
                was_killed = True
        yield ground
        if not was_killed:
            assert len(sent) < number
            return
    raise AssertionError("it never came to an end")


def test_wherever_it_is_killed_a_version_is_whole_or_none_and_the_next_try_ends_it(begin: Begin) -> None:
    seen = []

    for ground in killed_everywhere(lambda ground: ground.publish(3), begin):
        paths = ground.paths()
        is_there = ground.home.has_version(model="m", version=ground.version(3))
        seen.append(len(paths))
        ground.publish(3)
        assert is_there == (paths == WHOLE)
        assert (ground.paths(), "m/config.pbtxt" in paths) == (WHOLE, False)

    assert (seen, set(seen)) == (sorted(seen), {0, 1, 2, 3})


def test_wherever_it_is_killed_a_shadow_without_all_its_files_has_no_configuration(begin: Begin) -> None:
    def stage(ground: Ground) -> None:
        ground.home.stage_shadow(model="m", number=3, config_text="its own")

    def published() -> Ground:
        ground = begin()
        ground.publish(3)
        return ground

    seen = set()
    for ground in killed_everywhere(stage, published):
        shadow = [path for path in ground.paths() if path.startswith("m.shadow/")]
        seen.add(len(shadow))
        stage(ground)
        assert ("m.shadow/config.pbtxt" in shadow) == (len(shadow) == 4)
        assert len([path for path in ground.paths() if path.startswith("m.shadow/")]) == 4

    assert seen == {0, 1, 2, 3, 4}


def test_wherever_it_is_killed_the_configuration_is_the_old_one_or_the_new(begin: Begin) -> None:
    def written() -> Ground:
        ground = begin()
        ground.home.write_config(model="m", text="old")
        return ground

    seen = [
        ground.client.get_object(Bucket=BUCKET, Key=f"{ground.prefix}/m/config.pbtxt")["Body"].read()
        for ground in killed_everywhere(lambda ground: ground.home.write_config(model="m", text="new"), written)
    ]

    assert seen == sorted(seen, reverse=True)
    assert set(seen) == {b"old", b"new"}


def test_what_is_left_of_a_large_file_that_broke_off_is_no_object_and_is_swept(begin: Begin) -> None:
    ground = begin()
    content = bytes(s3.PARTS.multipart_threshold + 1)
    parts = {"Bucket": BUCKET, "Prefix": f"{ground.prefix}/"}

    with dead_from(4), pytest.raises(RepositoryBroken):
        ground.publish(3, {"version/w.bin": content})
    left, paths = ground.client.list_multipart_uploads(**parts).get("Uploads", []), ground.paths()
    ground.home.sweep(keep_shadows=())

    assert (len(left), paths) == (1, [])
    assert left[0]["Initiated"] < datetime.now(UTC)
    assert ground.client.list_multipart_uploads(**parts).get("Uploads", []) == []


def test_bytes_that_come_out_otherwise_than_they_went_in_are_no_version(begin: Begin) -> None:
    ground = begin()

    def somebody_writes_over_it(**_: Any) -> None:
        ground.put("m/labels.txt", b"dog\n")

    events = s3.client().meta.events
    events.register("after-call.s3.PutObject", somebody_writes_over_it, unique_id="over")
    try:
        with pytest.raises(UploadDamaged, match=r"m/labels\.txt") as damaged:
            ground.publish(3, {"shared/labels.txt": b"cat\n", "version/model.py": b"code"})
    finally:
        events.unregister("after-call.s3.PutObject", unique_id="over")

    assert damaged.value.retryable
    assert "m/labels.txt" not in ground.paths()
    assert ground.publish(3).was_there is False


@pytest.fixture
def locked(found: dict[str, str]) -> Iterator[None]:
    """The server asks who is there, and knows nobody."""

    def authenticate_after(requests: str) -> None:
        where = f"{found['endpoint_url']}/moto-api/reset-auth"
        kind = {"Content-Type": "application/octet-stream"}
        urlopen(Request(where, data=requests.encode(), headers=kind, method="POST")).close()

    authenticate_after("0")
    yield
    authenticate_after("inf")


@pytest.mark.usefixtures("locked")
def test_who_may_not_write_there_is_told_what_the_bucket_says(begin: Begin) -> None:
    with pytest.raises(BucketRefused, match=r"InvalidAccessKeyId|AccessDenied") as refused:
        begin().publish(3)

    assert (refused.value.retryable, bool(refused.value.hint)) == (False, True)
