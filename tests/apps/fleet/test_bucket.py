"""A repository in a bucket: whole or not at all, never over something else, by real HTTP."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from apps.common import s3
from apps.fleet import probe
from apps.fleet.errors import (
    BadPath,
    BucketMissing,
    BucketRefused,
    RepositoryBroken,
    SharedFileDiffers,
    VersionDiffers,
    VersionNotPublished,
)
from apps.fleet.repositories.s3 import Bucket
from tests.factories.artifacts import artifact
from tests.fixtures.s3 import BUCKET, client_of, s3_server

CONTENTS = {"version/model.py": b"code", "version/data/w.bin": b"\0" * 5_000, "shared/labels.txt": b"cat\n"}
_prefixes = count(1)


@dataclass(frozen=True)
class Bytes:
    number: int
    artifact: Path
    files: list[dict[str, Any]]


@dataclass
class Ground:
    """A repository at a prefix of its own, and the client beside it."""

    home: Bucket
    client: Any
    prefix: str
    folder: Path

    def version(self, number: int, contents: dict[str, bytes] | None = None) -> Bytes:
        made = artifact(self.folder / str(number), contents or CONTENTS)
        return Bytes(number, made.directory, made.files)

    def publish(self, number: int, contents: dict[str, bytes] | None = None) -> Any:
        return self.home.publish(model="m", version=self.version(number, contents))

    def put(self, path: str, content: bytes = b"x") -> None:
        self.client.put_object(Bucket=BUCKET, Key=f"{self.prefix}/{path}", Body=content)

    def paths(self) -> list[str]:
        told = self.client.list_objects_v2(Bucket=BUCKET, Prefix=f"{self.prefix}/")
        return sorted(line["Key"].removeprefix(f"{self.prefix}/") for line in told.get("Contents", ()))


@pytest.fixture(scope="module")
def found() -> Iterator[dict[str, str]]:
    with s3_server() as told:
        yield told


@pytest.fixture
def ground(found: dict[str, str], settings: Settings, tmp_path: Path) -> Ground:
    settings.CONCH = {**settings.CONCH, "s3": found}
    prefix = f"fleet/{next(_prefixes)}"
    return Ground(Bucket(f"s3://{BUCKET}/{prefix}", {}), client_of(found), prefix, tmp_path)


WHOLE = ["m/3/data/w.bin", "m/3/model.py", "m/labels.txt"]


def test_a_version_lands_whole_and_a_second_time_changes_nothing(ground: Ground) -> None:
    first = ground.publish(3)
    before = ground.home.stamp_ns(model="m", number=3)
    again = ground.publish(3)

    assert (first.was_there, first.copied_bytes, first.new_shared) == (False, 5_008, ("labels.txt",))
    assert (again.was_there, again.copied_bytes, again.new_shared) == (True, 0, ())
    assert (ground.paths(), ground.home.stamp_ns(model="m", number=3)) == (WHOLE, before)


def test_a_large_file_goes_in_parts_and_is_read_back(ground: Ground) -> None:
    content = bytes(range(256)) * (s3.PARTS.multipart_threshold // 256 + 4_096)

    ground.publish(3, {"version/w.bin": content})

    told = ground.client.head_object(Bucket=BUCKET, Key=f"{ground.prefix}/m/3/w.bin")
    assert (told["ContentLength"], told["ETag"].strip('"')[-2:]) == (len(content), "-2")


def test_what_a_killed_publisher_left_is_no_version_and_the_next_ends_it(ground: Ground) -> None:
    version = ground.version(3)
    ground.put("m/3/model.py", b"code")

    half = ground.home.has_version(model="m", version=version)
    ground.home.publish(model="m", version=version)

    assert (half, ground.home.has_version(model="m", version=version), ground.paths()) == (False, True, WHOLE)


@pytest.mark.parametrize(
    ("path", "kind"),
    [("m/3/model.py", VersionDiffers), ("m/3/more.py", VersionDiffers), ("m/labels.txt", SharedFileDiffers)],
)
def test_what_lies_there_is_never_written_over(path: str, kind: type[Exception], ground: Ground) -> None:
    ground.put(path, b"edit")

    with pytest.raises(kind, match=path):
        ground.publish(3)

    assert ground.paths() == [path]


def test_a_shadow_is_a_copy_with_its_own_configuration_and_goes_whole(ground: Ground) -> None:
    ground.publish(3)
    ground.publish(2)
    ground.home.write_config(model="m", text="live")
    for _ in range(2):
        ground.home.stage_shadow(model="m", number=3, config_text="its own")

    made = [path for path in ground.paths() if path.startswith("m.shadow/")]
    removed = [ground.home.remove_shadow(model="m") for _ in range(2)]

    shadow = ["m.shadow/3/data/w.bin", "m.shadow/3/model.py", "m.shadow/config.pbtxt", "m.shadow/labels.txt"]
    assert (made, removed) == (shadow, [True, False])
    assert [path for path in ground.paths() if ".shadow" in path] == []
    with pytest.raises(VersionNotPublished):
        ground.home.stage_shadow(model="m", number=9, config_text="x")


def test_the_configuration_is_written_once_and_taken_away_once(ground: Ground) -> None:
    wrote = [ground.home.write_config(model="m", text=text) for text in ("a", "a", "b")]
    removed = [ground.home.remove_config(model="m") for _ in range(2)]

    assert (wrote, removed, ground.paths()) == ([True, False, True], [True, False], [])


def test_versions_kept_no_longer_go_unless_a_restarted_server_would_load_them(ground: Ground) -> None:
    ground.publish(2)
    ground.publish(3)
    ground.home.write_config(model="m", text="version_policy {\n  specific {\n    versions: 3\n  }\n}\n")

    removed = ground.home.remove_versions({"m": {2, 3, 9}})

    assert removed == ["m/2"]
    assert ground.home.stamp_ns(model="m", number=2) is None
    assert ground.home.strange_entries(model="m") == []


def test_a_look_lists_a_model_once_whatever_versions_and_servers_it_has(ground: Ground) -> None:
    ground.publish(2)
    ground.publish(3)
    listings: list[str] = []
    events, stamps = s3.client().meta.events, probe.Stamps()
    events.register("before-send.s3.ListObjectsV2", lambda **_: listings.append("one"), unique_id="count")

    found = [stamps.of(ground.home, [("m", 2), ("m", 3), ("m", 9)]) for _ in range(3)]
    events.unregister("before-send.s3.ListObjectsV2", unique_id="count")

    assert len(listings) == 1
    assert found[0] == {("m", number): ground.home.stamp_ns(model="m", number=number) for number in (2, 3, 9)}
    assert (found[0]["m", 9], None in (found[0]["m", 2], found[0]["m", 3])) == (None, False)


def test_names_that_hang_a_load_are_told(ground: Ground) -> None:
    ground.put("m/2.tmp/model.py")
    ground.put("m/3/model.py")

    assert ground.home.strange_entries(model="m") == ["2.tmp"]


def test_the_sweep_leaves_what_is_young_and_what_is_kept(ground: Ground) -> None:
    ground.put("m.shadow/3/model.py")

    assert ground.home.sweep(keep_shadows=()) == []
    assert ground.paths() == ["m.shadow/3/model.py"]


@pytest.fixture
def undeletable(ground: Ground) -> Iterator[str]:
    """The bucket's own policy denies deletion below the model, which it says of each object, in an answer of 200."""
    below = f"arn:aws:s3:::{BUCKET}/{ground.prefix}/m/*"
    deny = {"Effect": "Deny", "Principal": "*", "Action": "s3:DeleteObject", "Resource": below}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [deny]})
    ground.client.put_bucket_policy(Bucket=BUCKET, Policy=policy)
    yield "m/config.pbtxt"
    ground.client.delete_bucket_policy(Bucket=BUCKET)


def test_an_object_that_may_not_be_deleted_is_named_with_what_the_bucket_says(ground: Ground, undeletable: str) -> None:
    ground.home.write_config(model="m", text="live")

    with pytest.raises(BucketRefused, match=rf"{undeletable} was not deleted: AccessDenied") as refused:
        ground.home.remove_config(model="m")

    assert (refused.value.retryable, ground.paths()) == (False, [undeletable])


@pytest.mark.parametrize(
    "call",
    [
        lambda home: home.write_config(model="m", text="x"),
        lambda home: home.stamp_ns(model="m", number=1),
        lambda home: home.sweep(keep_shadows=()),
    ],
)
def test_a_bucket_that_is_not_there_is_told_by_name(ground: Ground, call: Callable[[Bucket], object]) -> None:
    with pytest.raises(BucketMissing, match="s3://nowhere/models"):
        call(Bucket("s3://nowhere/models", {}))


def test_an_endpoint_that_does_not_answer_is_worth_another_try(ground: Ground) -> None:
    with pytest.raises(RepositoryBroken) as caught:
        Bucket("s3://models/x", {"endpoint_url": "http://127.0.0.1:9"}).write_config(model="m", text="x")

    assert caught.value.retryable


@pytest.mark.parametrize("place", ["/models", "s3://bucket", "s3:///prefix", "s3://bucket/a/../b", "s3://b/a//c"])
def test_a_place_that_is_no_prefix_is_refused(place: str) -> None:
    with pytest.raises(BadPath):
        Bucket.clean_place(place, name="x")


def test_places_and_settings_are_kept_in_one_form() -> None:
    assert Bucket.clean_place("s3://bucket/models/prod/", name="x") == "s3://bucket/models/prod"
    assert Bucket.clean_settings({"endpoint_url": "http://minio:9000", "region": ""}) == {
        "endpoint_url": "http://minio:9000"
    }
    with pytest.raises(BadPath, match="endpoint"):
        Bucket.clean_settings({"endpoint_url": "file:///etc/passwd"})
