"""Models and aliases."""

from collections.abc import Callable

import pytest

from apps.audit.models import Event
from apps.common.actor import COMMAND
from apps.common.names import BadName
from apps.registry import selectors, services
from apps.registry.errors import FieldInvalid, ModelTaken, ModelUnknown, VersionNotReady
from apps.registry.models import Alias, Version
from tests.factories.archives import good, zipped

Receive = Callable[..., Version]


def test_a_model_keeps_what_it_was_registered_with(db: None) -> None:
    services.register_model(COMMAND, name="digits", owner="ml", tags=["b", "a", "b"], slo_p99_ms=50)

    model = selectors.get_model("digits")
    assert (model.owner, model.tags, model.slo_p99_ms, model.load_deadline_s) == ("ml", ["a", "b"], 50.0, 300)


def test_a_name_is_given_once(registered: str) -> None:
    with pytest.raises(ModelTaken, match="'demo'"):
        services.register_model(COMMAND, name="demo")


@pytest.mark.parametrize("name", ["", ".hidden", "a b", "a;b", "../a", "a/b", "a.shadow", "n" * 122, "é", "$(id)"])
def test_a_name_that_a_server_or_a_shell_misreads_is_refused(name: str, db: None) -> None:
    with pytest.raises(BadName):
        services.register_model(COMMAND, name=name)


@pytest.mark.parametrize(
    "fields",
    [
        {"slo_p99_ms": 0},
        {"slo_p99_ms": float("nan")},
        {"slo_error_ratio": 1.1},
        {"slo_error_ratio": True},
        {"load_deadline_s": 1},
        {"load_deadline_s": 1.5},
        {"owner": "x" * 201},
        {"owner": "a\x00b"},
        {"tags": ["x" * 65]},
        {"tags": "word"},
        {"owner": "a\nb"},
        {"tags": ["a\tb"]},
        {"colour": "red"},
    ],
)
def test_a_field_out_of_range_is_refused_and_named(fields: dict[str, object], registered: str) -> None:
    with pytest.raises(FieldInvalid) as refused:
        services.update_model(COMMAND, name="demo", **fields)

    assert refused.value.facts["field"] == next(iter(fields))


def test_a_change_is_audited_with_what_was(registered: str) -> None:
    services.update_model(COMMAND, name="demo", owner="new", slo_p99_ms=None)

    detail = Event.objects.get(verb="update_model").detail
    assert detail == {"was": {"owner": ""}, "now": {"owner": "new"}}


def test_models_are_found_by_a_part_of_name_or_owner(db: None) -> None:
    for name, owner in (("digits", "vision"), ("speech", "audio"), ("words", "vision")):
        services.register_model(COMMAND, name=name, owner=owner)

    found = [[model.name for model in selectors.models(**asked)] for asked in ({"search": "IGI"}, {"owner": "vision"})]

    assert found == [["digits"], ["digits", "words"]]


def test_an_unknown_model_is_said(db: None) -> None:
    with pytest.raises(ModelUnknown, match="'nobody'"):
        selectors.get_model("nobody")


def test_an_alias_moves_and_the_audit_knows_from_where(arrive: Receive) -> None:
    arrive(zipped(good()))
    arrive(zipped(good()))

    for number in (1, 2):
        services.point_alias(COMMAND, model="demo", alias="champion", version=number)

    assert [(alias.name, alias.version.number) for alias in selectors.aliases("demo")] == [("champion", 2)]
    assert Event.objects.filter(verb="point_alias").order_by("-pk")[0].detail == {"was": 1, "now": 2}


def test_an_alias_points_at_ready_versions_only(receive: Receive) -> None:
    receive(zipped(good()))

    with pytest.raises(VersionNotReady, match="received"):
        services.point_alias(COMMAND, model="demo", alias="champion", version=1)

    assert not Alias.objects.exists()
