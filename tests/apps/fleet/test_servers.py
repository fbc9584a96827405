"""Environments, repositories and servers: added once, changed with a record, retired for good."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings

from apps.audit.models import Event
from apps.common.actor import COMMAND, Actor
from apps.common.errors import IllegalTransition, NotAllowed
from apps.fleet import connecting, selectors, services
from apps.fleet.errors import (
    AddressTaken,
    BadAddress,
    BadPath,
    BadRank,
    ControlKeyIncomplete,
    ControlValueSealed,
    EnvironmentUnknown,
    NameTaken,
    PathTaken,
    RepositoryElsewhere,
    RepositoryKindUnknown,
    RepositoryUnknown,
    ServerUnknown,
)
from apps.fleet.models import Server
from apps.serving.errors import UnknownBackend
from tests.apps.fleet.conftest import named

OPERATOR = Actor(kind="token", name="ci", door="api", scopes=frozenset({"deploy"}))


def add(**fields: Any) -> Server:
    asked = {"name": "one", "environment": "staging", "repository": "staging", "grpc": "127.0.0.1:1"} | fields
    return services.add_server(COMMAND, **asked)


def test_a_new_server_is_checking_and_waits_for_a_worker(environment: str) -> None:
    server = add(http="127.0.0.1:2", metrics="127.0.0.1:3", labels={"gpu": "none"})

    kept = selectors.get_server("one")
    assert (kept.pk, kept.state, kept.metrics) == (server.pk, "checking", "http://127.0.0.1:3/metrics")
    assert (kept.labels, kept.created_by) == ({"gpu": "none"}, "command line")


@pytest.mark.parametrize(
    ("fields", "error", "says"),
    [
        ({"name": "one", "grpc": "127.0.0.1:9"}, NameTaken, "'one'"),
        ({"name": "two"}, AddressTaken, "server 'one' has 127.0.0.1:1"),
        ({"name": "two", "grpc": "grpc://127.0.0.1:1"}, AddressTaken, "server 'one'"),
        ({"name": "two", "grpc": "localhost:1"}, AddressTaken, "server 'one' has 127.0.0.1:1"),
        ({"name": "two", "grpc": "[::1]:1"}, AddressTaken, "server 'one' has 127.0.0.1:1"),
        ({"name": "two", "environment": "nowhere"}, EnvironmentUnknown, "'nowhere'"),
        ({"name": "two", "repository": "nowhere"}, RepositoryUnknown, "'nowhere'"),
        ({"name": "two", "repository": "prod"}, RepositoryElsewhere, "belongs to 'prod'"),
        ({"name": "two", "kind": "nginx"}, UnknownBackend, "'nginx'"),
        ({"name": "two", "grpc": "x"}, BadAddress, "grpc"),
        ({"name": "two", "grpc": "x:1", "control_key": "k"}, ControlKeyIncomplete, "both"),
        ({"name": "two", "grpc": "x:1", "control_key": "k:", "control_value": "v"}, BadAddress, "header"),
        ({"name": "two", "grpc": "x:1", "control_key": "k", "control_value": "a\nb"}, BadAddress, "header"),
    ],
)
def test_a_server_that_cannot_be_is_refused_and_says_why(
    fields: dict[str, Any], error: type[Exception], says: str, environment: str, tmp_path: Path
) -> None:
    services.add_environment(COMMAND, name="prod", rank=1)
    services.add_repository(COMMAND, name="prod", environment="prod", path=str(tmp_path / "prod"))
    add()

    with pytest.raises(error, match=says):
        add(**fields)

    assert Server.objects.count() == 1


def test_an_operator_adds_no_server(environment: str) -> None:
    with pytest.raises(NotAllowed):
        services.add_server(OPERATOR, name="two", environment="staging", repository="staging", grpc="x:1")


def test_the_control_key_is_sealed_and_opened_for_the_connection_only(environment: str) -> None:
    server = add(control_key="key", control_value="secret value")

    address = connecting.address(selectors.get_server("one"))

    assert (address.control_key, address.control_value) == ("key", "secret value")
    assert "secret" not in server.sealed_control_value
    assert "secret" not in repr(address) + str(list(Event.objects.values_list("detail", flat=True)))


def test_a_control_key_sealed_under_another_secret_is_said(environment: str, settings: Settings) -> None:
    add(control_key="key", control_value="secret value")
    settings.SECRET_KEY = "another"

    with pytest.raises(ControlValueSealed, match="one"):
        connecting.address(selectors.get_server("one"))

    assert services.retire_server(COMMAND, name="one", reason="key lost").state == "retired"


def test_an_update_changes_what_is_given_and_tells_no_secret(environment: str) -> None:
    add(http="127.0.0.1:2", labels={"a": "b"})

    services.update_server(COMMAND, name="one", metrics="127.0.0.1:3", control_key="k", control_value="hush")

    kept = selectors.get_server("one")
    assert (kept.http, kept.metrics, kept.labels) == ("127.0.0.1:2", "http://127.0.0.1:3/metrics", {"a": "b"})
    assert Event.objects.get(verb="update_server").detail == {
        "now": {"metrics": "http://127.0.0.1:3/metrics", "control_key": "k"}
    }


def test_a_cordon_is_set_once_and_lifted(environment: str) -> None:
    named("one", "127.0.0.1:1")

    for _ in range(2):
        services.cordon_server(COMMAND, name="one", reason="disk swap")
    cordoned = selectors.get_server("one")
    lifted = services.uncordon_server(COMMAND, name="one")

    assert (cordoned.cordoned_at is not None, cordoned.cordon_reason) == (True, "disk swap")
    assert (lifted.cordoned_at, lifted.cordon_reason) == (None, "")
    assert Event.objects.filter(verb__endswith="cordon_server").count() == 2


def test_a_retired_server_frees_its_address_keeps_its_name_and_stays_retired(environment: str) -> None:
    named("one", "127.0.0.1:1")
    services.retire_server(COMMAND, name="one", reason="old")

    add(name="two")
    with pytest.raises(NameTaken):
        add(grpc="127.0.0.1:9")
    with pytest.raises(IllegalTransition):
        services.retire_server(COMMAND, name="one", reason="again")


def test_an_unknown_server_is_said(db: None) -> None:
    with pytest.raises(ServerUnknown, match="'nobody'"):
        selectors.get_server("nobody")


def test_an_environment_is_named_once(environment: str) -> None:
    with pytest.raises(NameTaken, match="'staging'"):
        services.add_environment(COMMAND, name="staging")


@pytest.mark.parametrize("rank", [-1, 1_001, True])
def test_a_rank_out_of_range_is_refused(rank: int, environment: str) -> None:
    with pytest.raises(BadRank, match="from 0 to 1,000"):
        services.update_environment(COMMAND, name="staging", rank=rank)


def test_a_rank_change_is_audited_with_what_was(environment: str) -> None:
    services.update_environment(COMMAND, name="staging", rank=7)

    assert selectors.get_environment("staging").rank == 7
    assert Event.objects.get(verb="update_environment").detail == {"was": {"rank": 0}, "now": {"rank": 7}}


@pytest.mark.parametrize("path", ["relative", "/", "/a/../b", "/a\nb", "/" + "n" * 1_001, ""])
def test_a_path_that_is_none_is_refused(path: str, environment: str) -> None:
    with pytest.raises(BadPath):
        services.add_repository(COMMAND, name="more", environment="staging", path=path)


@pytest.mark.parametrize("below", ["", "/below", "/.."])
def test_no_repository_lies_in_another(below: str, environment: str, root: Path) -> None:
    path = str(Path(f"{root}{below}").resolve())

    with pytest.raises(PathTaken, match="repository 'staging' has"):
        services.add_repository(COMMAND, name="more", environment="staging", path=path)


def test_a_repository_is_named_once_and_of_a_known_kind(environment: str, tmp_path: Path) -> None:
    with pytest.raises(NameTaken):
        services.add_repository(COMMAND, name="staging", environment="staging", path=str(tmp_path / "other"))
    with pytest.raises(RepositoryKindUnknown):
        services.add_repository(COMMAND, name="ftp", environment="staging", path=str(tmp_path / "o"), kind="ftp")


def test_a_part_changing_how_it_is_makes_an_event_and_staying_so_does_not(db: None) -> None:
    for is_well, message in ((True, ""), (True, ""), (False, "refused"), (False, "refused"), (True, "")):
        services.record_part("broker", is_well=is_well, message=message, now=timezone.now())

    broker = next(part for part in selectors.health(now=timezone.now()) if part.name == "broker")
    assert broker.is_well
    assert list(Event.objects.order_by("pk").values_list("verb", "reason")) == [
        ("part_unwell", "refused"),
        ("part_well", ""),
    ]


def test_a_part_that_was_not_heard_of_lately_is_not_well(db: None) -> None:
    then = timezone.now() - timedelta(minutes=5)
    services.record_part("worker", is_well=True, message="", now=then)

    told = {part.name: part.message for part in selectors.health(now=timezone.now()) if not part.is_well}

    assert told["worker"].startswith("nothing has been heard of it since")
    assert told["beat"] == "nothing has been heard of it yet"
