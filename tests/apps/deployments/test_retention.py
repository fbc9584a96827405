"""Which versions keep their bytes, who holds them, and what goes when the clock comes."""

import os
import threading
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import Settings

from apps.audit import selectors as audit
from apps.common.actor import COMMAND
from apps.common.errors import ControlPlaneError
from apps.deployments import errors, selectors, services
from apps.deployments.models import Ban, Placement, Rollout
from apps.deployments.services.beginning import begin
from apps.deployments.states import RolloutKind
from apps.fleet.repositories import posix as repositories
from apps.registry import selectors as registry
from apps.registry import services as registry_services
from apps.registry.models import Alias, Artifact, Version
from tests.factories.fleets import FleetRows

PROD: dict[str, Any] = {"environment": "prod", "model": "digits"}


@pytest.fixture
def store(settings: Settings, tmp_path: Path) -> Path:
    settings.CONCH = {**settings.CONCH, "artifacts_dir": tmp_path, "keep_versions": 0}
    return tmp_path


@pytest.fixture
def many(rows: FleetRows, store: Path) -> FleetRows:
    """Versions 1 to 9, of which the newest two are kept by number; 1 is live."""
    for number in range(4, 10):
        rows.version("digits", number)
    for artifact in Artifact.objects.all():
        place = registry.artifact_directory(artifact)
        place.mkdir(parents=True)
        (place / "weights").write_bytes(b"x" * 1_000)
    registry_services.update_model(COMMAND, name="digits", keep_versions=2)
    return rows


def going() -> list[int]:
    return sorted(one.version.number for one in selectors.retention().goes)


def held() -> dict[int, tuple[str, ...]]:
    return {one.version.number: one.held_by for one in selectors.retention().held}


def test_all_stays_unless_somebody_says_otherwise(rows: FleetRows, store: Path) -> None:
    assert selectors.retention() == selectors.Retention((), (), ())


def test_the_newest_stay_and_of_the_older_ones_what_is_held(many: FleetRows) -> None:
    version = {number: many.versions["digits", number] for number in range(1, 10)}
    placement = many.placements["digits", "prod"]
    Placement.objects.filter(pk=placement.pk).update(standby=version[2], held_at=timezone.now())
    Alias.objects.create(model=version[3].model, name="champion", version=version[3])
    Ban.objects.create(placement=placement, version=version[4], reason="x", actor="x", actor_kind="user")
    many.rollout("digits", "prod", 5, 1)
    many.observed("prod-2", "digits", 6)

    assert going() == [7]
    assert held() == {
        1: ("digits in prod (live and held)", "loaded on prod-1", "loaded on prod-2"),
        2: ("digits in prod (kept hot and held)",),
        3: ("alias champion",),
        4: ("ban in prod",),
        5: ("the way back in prod",),
        6: ("loaded on prod-2",),
    }


def test_the_default_counts_where_a_model_says_nothing(many: FleetRows, settings: Settings) -> None:
    registry_services.update_model(COMMAND, name="digits", keep_versions=None)
    settings.CONCH = {**settings.CONCH, "keep_versions": 7}

    assert going() == [2]


def test_what_the_dry_run_shows_is_what_goes_and_its_history_stays(many: FleetRows, store: Path) -> None:
    many.rollout("digits", "prod", 2, 3, state="rolled_back")
    shown, digest = going(), many.versions["digits", 2].digest

    gone = services.apply_retention(timezone.now())
    again = services.apply_retention(timezone.now())

    version = registry.get_version("digits", 2)
    assert (gone, again) == (len(shown), 0)
    assert (version.state, version.artifact, version.digest) == ("removed", None, digest)
    assert Rollout.objects.filter(from_version=version).exists()
    assert [event.verb for event in audit.events(subject=str(version))] == ["remove_version_bytes"]
    assert not Artifact.objects.filter(digest=digest).exists()
    assert Artifact.objects.count() == 9 - len(shown)
    with pytest.raises(errors.VersionNotReady, match="it is removed"):
        services.promote(COMMAND, **PROD, version=2)


def test_bytes_that_a_kept_version_shares_stay_and_are_not_counted(many: FleetRows) -> None:
    newest, old = many.versions["digits", 9], many.versions["digits", 2]
    Version.objects.filter(pk=old.pk).update(artifact=newest.artifact)

    freed = {one.version.number: one.freed_bytes for one in selectors.retention().goes}
    services.apply_retention(timezone.now())

    assert (freed[2], freed[3]) == (0, 45_678)
    assert registry.directory_of(newest.digest).is_dir()


def test_what_becomes_live_after_the_dry_run_is_left_alone(many: FleetRows, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = selectors.retention()
    services.promote(COMMAND, **PROD, version=3)
    monkeypatch.setattr("apps.deployments.services.retention.retention", lambda: shown)

    services.apply_retention(timezone.now())

    assert registry.get_version("digits", 3).state == "ready"
    assert registry.get_version("digits", 4).state == "removed"


def test_bytes_that_no_row_knows_go_once_they_are_old(many: FleetRows, store: Path) -> None:
    old, fresh = store / "ab" / ("ab" * 32), store / "cd" / ("cd" * 32)
    for place in (old, fresh):
        place.mkdir(parents=True)
        (place / "weights").write_bytes(b"x" * 10)
    os.utime(old, (1, 1))

    shown = selectors.retention().orphans
    registry_services.sweep_artifacts()

    assert shown == (("ab" * 32, 10),)
    assert (old.exists(), fresh.exists()) == (False, True)
    assert not any((store / "staging").iterdir())


def test_archiving_says_who_holds_it(many: FleetRows) -> None:
    Alias.objects.create(model=many.models["digits"], name="champion", version=many.versions["digits", 1])

    with pytest.raises(errors.VersionInUse) as refused:
        services.archive_version(COMMAND, model="digits", version=1)

    assert refused.value.facts["held_by"] == ["digits in prod (live)", "alias champion"]


def test_a_version_that_is_archived_while_a_promotion_begins_is_not_promoted(rows: FleetRows) -> None:
    """Both take the version's lock: whoever is second sees what the first has done."""
    barrier = threading.Barrier(2)
    outcomes: list[str] = []

    def attempt(name: str, act: Any) -> None:
        barrier.wait()
        try:
            act()
            outcomes.append(name)
        except ControlPlaneError as error:
            outcomes.append(error.code)
        finally:
            connection.close()

    threads = [
        threading.Thread(target=attempt, args=("promoted", lambda: services.promote(COMMAND, **PROD, version=2))),
        threading.Thread(
            target=attempt, args=("archived", lambda: services.archive_version(COMMAND, model="digits", version=2))
        ),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    state = registry.get_version("digits", 2).state
    assert sorted(outcomes) in (["archived", "version_not_ready"], ["promoted", "version_in_use"])
    assert Rollout.objects.filter(to_version__number=2).exists() == (state == "ready")


def test_a_promotion_that_was_decided_before_the_archiving_does_not_begin(rows: FleetRows) -> None:
    placement, version = rows.placements["digits", "prod"], registry.get_version("digits", 2)
    services.archive_version(COMMAND, model="digits", version=2)

    with pytest.raises(errors.VersionNotReady, match="put away just now"), transaction.atomic():
        begin(
            COMMAND,
            selectors.get_placement("prod", "digits"),
            RolloutKind.PROMOTE,
            list(rows.servers.values()),
            to=version,
            reason="",
            confirm=(),
        )

    assert placement.rollouts.count() == 0


def test_directories_of_removed_versions_go_but_not_what_a_restart_would_load(tmp_path: Path) -> None:
    root = tmp_path / "models"
    for number in (1, 2, 12):
        (root / "m" / str(number)).mkdir(parents=True)
        (root / "m" / str(number) / "model.py").write_text("x")
    (root / "m" / "config.pbtxt").write_text("version_policy {\n  specific {\n    versions: 12\n  }\n}\n")

    removed = repositories.remove_versions(root, gone={"m": {2, 12}, "other": {1}})

    assert removed == ["m/2"]
    assert sorted(one.name for one in (root / "m").iterdir()) == ["1", "12", "config.pbtxt"]
    assert list((tmp_path / ".models.staging").iterdir()) == []


def test_looking_costs_the_same_for_one_model_and_for_many(many: FleetRows) -> None:
    with CaptureQueriesContext(connection) as for_one:
        selectors.retention()
    for position in range(5):
        many.model(f"m{position}", keep_versions=1)
        for number in (1, 2, 3):
            many.version(f"m{position}", number)

    with CaptureQueriesContext(connection) as for_many:
        found = selectors.retention()

    assert len(found.goes) + len(found.held) == 7 + 10
    assert len(for_many) == len(for_one)


def test_an_archived_version_loses_its_bytes_by_hand_and_keeps_its_history(many: FleetRows, store: Path) -> None:
    registry_services.update_model(COMMAND, name="digits", keep_versions=0)
    place = registry.directory_of(many.versions["digits", 3].digest)
    os.utime(place, (1, 1))
    services.archive_version(COMMAND, model="digits", version=3)

    gone = services.remove_version_bytes(COMMAND, model="digits", version=3, reason="wrong weights")
    services.apply_retention(timezone.now())

    told = audit.events(subject=str(gone)).get(verb="remove_version_bytes")
    assert (gone.state, gone.artifact, place.exists()) == ("removed", None, False)
    assert (told.reason, told.detail["digest"]) == ("wrong weights", gone.digest)


def test_bytes_that_something_needs_cannot_be_removed_by_hand(many: FleetRows) -> None:
    with pytest.raises(errors.VersionNotArchived, match="is ready, not archived"):
        services.remove_version_bytes(COMMAND, model="digits", version=3)

    placement = many.placements["digits", "prod"]
    banned = many.versions["digits", 4]
    services.archive_version(COMMAND, model="digits", version=4)
    Ban.objects.create(placement=placement, version=banned, reason="x", actor="x", actor_kind="user")

    with pytest.raises(errors.VersionInUse, match="held by ban in prod"):
        services.remove_version_bytes(COMMAND, model="digits", version=4)


def test_the_dry_run_counts_copies_in_repositories_by_the_manifest(many: FleetRows) -> None:
    many.rollout("digits", "prod", 1, 5)
    files = [{"path": f"{place}/x", "size_bytes": 7, "sha256": ""} for place in ("version", "shared")]
    Artifact.objects.filter(digest__in=[many.versions["digits", number].digest for number in (5, 6)]).update(
        files=files
    )

    shown = selectors.retention()

    copies = {one.version.number: one.copies for one in (*shown.goes, *shown.held)}
    assert (copies[5], copies[6], shown.copies) == ((("prod-models", 7),), (), (("prod-models", 7),))
    assert selectors.judge(many.versions["digits", 5]).copies == copies[5]


def test_the_dry_run_counts_what_dead_processes_left(many: FleetRows, store: Path) -> None:
    for place in ("incoming/abc", "receiving/x.upload", "staging/d/unpacked/weights"):
        (store / place).parent.mkdir(parents=True, exist_ok=True)
        (store / place).write_bytes(b"x" * 10)
    before = selectors.retention().leftover_bytes
    for place in ("incoming/abc", "receiving/x.upload", "staging/d"):
        os.utime(store / place, (1, 1))

    shown = selectors.retention()
    registry_services.sweep_store()

    assert (before, shown.leftover_bytes, selectors.retention().leftover_bytes) == (0, 30, 0)
    assert shown.freed_bytes == 30 + sum(one.freed_bytes for one in shown.goes)
    assert selectors.retention(model="digits").leftover_bytes == 0
