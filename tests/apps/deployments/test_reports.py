"""Preflight per server: what is known, what blocks a promotion, what asks, what is only told."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from apps.common.actor import COMMAND
from apps.deployments import selectors, services
from apps.deployments.errors import PreflightFailed, PreflightWarnings
from apps.deployments.models import Overlay
from apps.fleet import selectors as fleet
from apps.fleet.models import Observation, Repository, Server
from apps.registry.models import Version
from apps.serving.preflight import Severity
from tests.factories.fleets import FleetRows

ENSEMBLE: dict[str, Any] = {
    "platform": "ensemble",
    "input": [{"name": "x", "data_type": "TYPE_FP32", "dims": [4]}],
    "output": [{"name": "y", "data_type": "TYPE_FP32", "dims": [4]}],
    "ensemble_scheduling": {
        "step": [
            {"model_name": "scale", "model_version": -1, "input_map": {"x": "x"}, "output_map": {"y": "y"}},
        ]
    },
}


def configure(rows: FleetRows, number: int, backend: str = "python", **config: Any) -> Version:
    version = rows.versions["digits", number]
    plain = {"backend": "python", "input": ENSEMBLE["input"], "output": ENSEMBLE["output"]}
    version.config = config if "platform" in config else plain | {"backend": backend} | config
    version.backend = backend
    version.save()
    return version


def label(server: str, **labels: str) -> None:
    Server.objects.filter(name=server).update(labels=labels)


def rules(version: Version) -> set[tuple[str, str, str]]:
    found = selectors.report(version, "prod").findings
    return {(finding.rule, str(finding.severity), finding.server) for finding in found}


def promote(version: Version, **asked: Any) -> Any:
    return services.promote(COMMAND, environment="prod", model="digits", version=version.number, **asked)


def test_a_clean_version_is_told_only_that_its_usual_backend_is_presumed(rows: FleetRows) -> None:
    configure(rows, 1, "home-made")
    version = configure(rows, 2)

    assert rules(version) == {("backend-presumed", "note", "prod-1"), ("backend-presumed", "note", "prod-2")}
    assert promote(version).to_version == version


def test_a_backend_that_has_served_there_is_known(rows: FleetRows) -> None:
    configure(rows, 1)

    assert rules(configure(rows, 2)) == set()


def test_a_platform_that_has_served_there_makes_its_backend_known(rows: FleetRows) -> None:
    configure(rows, 1)
    Version.objects.filter(number=1).update(backend="onnxruntime_onnx")
    version = configure(rows, 2, "onnxruntime", default_model_filename="model.py")

    assert rules(version) == set()


def test_a_backend_of_its_own_is_asked_about_until_it_is_confirmed_or_declared(rows: FleetRows) -> None:
    version = configure(rows, 2, "home-made")
    label("prod-1", backends="python home-made")

    with pytest.raises(PreflightWarnings, match="prod-2 has the backend 'home-made'") as asked:
        promote(version)
    confirmed = promote(version, confirm=["warnings"])

    assert [one["rule"] for one in asked.value.facts["findings"]] == ["backend-unknown"]
    assert confirmed.plan["confirmed"] == ["warnings"]


def test_a_backend_that_a_server_said_it_lacks_blocks(rows: FleetRows) -> None:
    version = configure(rows, 2, "onnxruntime", default_model_filename="model.py")
    reason = "version 9 is at UNAVAILABLE state: unable to find backend library for backend 'onnxruntime', try"
    rows.observed("prod-2", "digits.shadow", 9, state="UNAVAILABLE", reason=reason)

    with pytest.raises(PreflightFailed, match="prod-2 said that it has no backend 'onnxruntime'") as refused:
        promote(version, confirm=["warnings"])

    assert [one["server"] for one in refused.value.facts["findings"]] == ["prod-2"]
    assert refused.value.hint


def test_servers_left_out_are_not_asked_about(rows: FleetRows) -> None:
    version = configure(rows, 2, "onnxruntime", default_model_filename="model.py")
    label("prod-2", backends="python")

    with pytest.raises(PreflightFailed):
        promote(version)

    assert promote(version, skip=["prod-2"]).plan["left_out"] == ["prod-2"]


def test_a_field_is_too_new_for_the_server_that_is_older(rows: FleetRows) -> None:
    version = configure(rows, 2, runtime="libx.so")
    Observation.objects.filter(server__name="prod-2").update(server_version="2.40.0")

    found = {(rule, server) for rule, severity, server in rules(version) if severity == "error"}

    assert found == {("newer-field", "prod-2")}


def test_labels_tell_of_gpus_and_memory_and_nonsense_in_them_tells_nothing(rows: FleetRows) -> None:
    version = configure(rows, 2, instance_group=[{"kind": "KIND_GPU", "gpus": [1]}])
    label("prod-1", gpus="1", memory_gib="0.000001")
    label("prod-2", gpus="two", memory_gib="lots")

    found = {(rule, server) for rule, severity, server in rules(version) if severity != "note"}

    assert found == {("gpu-id", "prod-1"), ("memory", "prod-1"), ("gpu-unknown", "prod-2")}


def test_an_ensemble_needs_its_members_live_there_and_of_the_right_types(rows: FleetRows) -> None:
    ensemble = configure(rows, 2, **ENSEMBLE)
    alone = rules(ensemble)
    rows.model("scale")
    rows.version("scale", 4)
    member = {"input": [{"name": "x", "data_type": "TYPE_INT8", "dims": [4]}], "output": ENSEMBLE["output"]}
    Version.objects.filter(model__name="scale").update(config=member)

    rows.placed("scale", "prod", 4)
    wrong = rules(ensemble)
    Version.objects.filter(model__name="scale").update(config={**member, "input": ENSEMBLE["input"]})
    right = rules(ensemble)

    assert alone == {("member-missing", "error", "")}
    assert wrong == {("member-types", "error", "")}
    assert right == set()


def test_an_ensemble_that_its_member_calls_again_is_refused(rows: FleetRows) -> None:
    ensemble = configure(rows, 2, **ENSEMBLE)
    for name, called in (("scale", "resize"), ("resize", "digits")):
        rows.model(name)
        rows.version(name, 4, config={**ENSEMBLE, "ensemble_scheduling": {"step": [{"model_name": called}]}})
        rows.placed(name, "prod", 4)

    found = selectors.report(ensemble, "prod").of(Severity.ERROR)

    assert [one.rule for one in found if "circle" in one.rule] == ["member-circle"]
    assert "'digits' calls 'scale' calls 'resize' calls 'digits'" in [one.message for one in found][-1]


def test_a_shared_file_of_other_content_than_the_placed_version_has_is_told_before_anything_moves(
    rows: FleetRows,
) -> None:
    version = configure(rows, 2)
    for number, digest in ((1, "a" * 64), (2, "b" * 64)):
        artifact = rows.versions["digits", number].artifact
        assert artifact is not None
        artifact.files = [*artifact.files, {"path": "shared/labels.txt", "size_bytes": 2, "sha256": digest}]
        artifact.save()

    with pytest.raises(PreflightFailed, match=r"'labels\.txt' beside config\.pbtxt has other content in version 1"):
        promote(version)


def test_a_member_that_serves_outside_conch_counts_as_there(rows: FleetRows) -> None:
    rows.observed("prod-1", "scale", 1)

    assert rules(configure(rows, 2, **ENSEMBLE)) == set()


def test_what_the_environment_overlays_is_what_is_held_against_the_rules(rows: FleetRows) -> None:
    version = configure(rows, 2, max_batch_size=8)
    placement = rows.placements["digits", "prod"]
    batching = {"dynamic_batching": {"preferred_batch_size": [16]}}
    placement.overlay = Overlay.objects.create(placement=placement, number=1, document=batching)
    placement.save()

    found = selectors.report(version, "prod").of(Severity.ERROR)

    assert [one.rule for one in found] == ["preferred-batch-size"]


def test_a_report_without_a_server_holds_what_needs_none(rows: FleetRows) -> None:
    rows.environment("empty", rank=9)
    version = configure(rows, 2, max_batch_size=2, dynamic_batching={"preferred_batch_size": [4]})

    found = selectors.report(version, "empty")

    assert ([one.rule for one in found.of(Severity.ERROR)], found.servers) == (["preferred-batch-size"], ())


def test_the_number_of_queries_does_not_grow_with_the_servers(
    rows: FleetRows, django_assert_max_num_queries: Any
) -> None:
    for number in range(20):
        rows.server(f"more-{number}", "prod")
    version = configure(rows, 2)
    servers = list(fleet.servers_for_rollouts("prod"))

    with django_assert_max_num_queries(6):
        selectors.report(version, "prod", servers)


def test_a_version_that_its_repository_has_no_room_for_is_refused_before_anything_begins(rows: FleetRows) -> None:
    version = configure(rows, 2)
    Repository.objects.filter(name="prod-models").update(free_bytes=10_000, free_at=timezone.now())

    assert {(rule, server) for rule, severity, server in rules(version) if severity == "error"} == {
        ("disk", "prod-1"),
        ("disk", "prod-2"),
    }
    with pytest.raises(
        PreflightFailed, match=r"8\.4 KiB \(8,642 bytes\) are to be published and 16\.0 MiB stay in reserve; 9\.8 KiB"
    ):
        promote(version)


def test_an_old_reading_of_the_room_is_none_and_a_version_that_is_there_needs_none(rows: FleetRows) -> None:
    version = configure(rows, 2)
    room = Repository.objects.filter(name="prod-models")
    room.update(free_bytes=0, free_at=timezone.now() - timedelta(hours=1))
    of_old = rules(version)
    room.update(free_at=timezone.now())
    before = rules(version)

    rows.rollout("digits", "prod", 1, 2, kind="heal")

    told = [sorted({rule for rule, _, _ in found if "disk" in rule}) for found in (of_old, before, rules(version))]
    assert told == [["disk-unknown"], ["disk"], []]


@pytest.mark.parametrize(("kind", "told"), [("s3", {("disk-unknown", "note")}), ("inline", set())])
def test_a_bucket_does_not_tell_its_room_and_what_load_calls_bring_needs_none(
    kind: str, told: set[tuple[str, str]], rows: FleetRows
) -> None:
    version = configure(rows, 2)
    Repository.objects.update(kind=kind, free_bytes=None, free_at=None)

    found = selectors.report(version, "prod", list(fleet.servers(environment="prod"))[:1]).findings

    assert {(one.rule, str(one.severity)) for one in found if "disk" in one.rule} == told
    assert all("8,642 bytes" in one.message and "is not known" in one.message for one in found if "disk" in one.rule)
