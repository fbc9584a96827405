"""The main job over a bucket. The wheel's Triton cannot read one: a simulated server over the mirrored prefix does."""

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from pytest_django import Settings

from apps.deployments import selectors
from apps.fleet import selectors as fleet
from apps.fleet.repositories import open_home
from tests.doubles.fleet import SimulatedFleet
from tests.doubles.triton.bucket import reads_from
from tests.fixtures.s3 import BUCKET, client_of, s3_server
from tests.fixtures.traffic import Traffic
from tests.fixtures.tritons import simulated_tritons
from tests.fixtures.waiting import eventually
from tests.fixtures.world import World

_prefixes = count(1)


@pytest.fixture(scope="module")
def found() -> Iterator[dict[str, str]]:
    with s3_server() as told:
        yield told


@pytest.fixture
def world(
    transactional_db: None,
    found: dict[str, str],
    settings: Settings,
    simulated_fleet: SimulatedFleet,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[World]:
    keys = {name: found[name] for name in ("access_key_id", "secret_access_key")}
    settings.CONCH = {**settings.CONCH, "s3": {"endpoint_url": "", "region": "", **keys}}
    prefix = f"models/prod-{next(_prefixes)}"
    home = {"kind": "s3", "path": f"s3://{BUCKET}/{prefix}", "endpoint_url": found["endpoint_url"]}
    with simulated_tritons(simulated_fleet, tmp_path_factory) as start:
        triton = start("prod-1", load_models=None)
        reads_from(triton.repository, found, bucket=BUCKET, prefix=prefix)
        yield World.of("prod", "digits", [triton], home | {"region": found["region"]})


def objects(world: World, found: dict[str, str]) -> list[str]:
    prefix = fleet.get_repository("prod").path.removeprefix(f"s3://{BUCKET}/")
    told: dict[str, Any] = client_of(found).list_objects_v2(Bucket=BUCKET, Prefix=prefix)
    return sorted(line["Key"].removeprefix(f"{prefix}/") for line in told["Contents"])


def test_up_and_back_over_a_bucket_fails_no_request_and_comes_back_hot(world: World, found: dict[str, str]) -> None:
    first = world.promote(world.upload(weights=b"one"))

    with Traffic(world.tritons["prod-1"].grpc, world.model) as traffic:
        up = world.promote(world.upload(weights=b"two"))
        loaded = world.ready("prod-1")
        back = world.roll_back()

    assert (first.state, up.state, back.state) == ("succeeded",) * 3, world.told(up.pk)
    assert loaded == {1, 2}
    assert [run.recipe for run in back.runs.all() if run.direction == "forward"] == [["expose", "await_ready"]]
    assert (traffic.failures, traffic.versions) == ([], {1, 2})
    assert objects(world, found) == [
        "digits/1/model.py",
        "digits/1/weights.bin",
        "digits/2/model.py",
        "digits/2/weights.bin",
        "digits/config.pbtxt",
    ]


def test_a_server_restarted_alone_comes_back_by_what_lies_in_the_bucket(world: World) -> None:
    world.promote(world.upload())
    triton = world.tritons["prod-1"]

    triton.kill()
    triton.start()

    assert world.ready("prod-1") == {1}


def test_an_object_that_is_written_again_is_no_longer_hot(world: World, found: dict[str, str]) -> None:
    world.promote(world.upload())
    world.promote(world.upload())
    home = open_home(fleet.get_repository("prod"))
    hot = [target.is_hot for target in selectors.rollback_targets(selectors.get_placement("prod", world.model))]
    before = home.stamp_ns(model="digits", number=1)
    key = home.place.removeprefix(f"s3://{BUCKET}/") + "/digits/1/model.py"
    client = client_of(found)
    body = client.get_object(Bucket=BUCKET, Key=key)["Body"].read()

    def has_moved() -> bool:
        client.put_object(Bucket=BUCKET, Key=key, Body=body)
        return home.stamp_ns(model="digits", number=1) != before

    assert eventually(has_moved, timeout_s=10)
    world.observe()

    cold = [target.is_hot for target in selectors.rollback_targets(selectors.get_placement("prod", world.model))]
    assert (hot, cold) == ([True], [False])
