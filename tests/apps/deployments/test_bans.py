"""Bans and holds: what must not go live again, what is kept as it is, and who lets go of it."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.audit import selectors as audit
from apps.common.actor import COMMAND
from apps.deployments import errors, selectors, services
from apps.deployments.models import Ban
from tests.apps.deployments.test_rolling_back import PROD, ended, live
from tests.factories.fleets import FleetRows


def test_a_banned_version_is_refused_with_who_and_why_until_the_ban_is_lifted(rows: FleetRows) -> None:
    live(rows)
    ended(services.roll_back(COMMAND, **PROD, reason="wrong labels"))

    with pytest.raises(errors.VersionBanned, match=r"by command line since .*: wrong labels") as refused:
        services.promote(COMMAND, **PROD, version=2, confirm=["hold"])
    services.lift_ban(COMMAND, ban=refused.value.facts["ban"], reason="the labels were right")
    rollout = services.promote(COMMAND, **PROD, version=2, confirm=["hold"])

    assert rollout.to_version == rows.versions["digits", 2]
    lifted = Ban.objects.get()
    assert (lifted.lifted_by, lifted.lift_reason) == ("command line", "the labels were right")


def test_the_same_bytes_under_another_number_are_banned_too(rows: FleetRows) -> None:
    live(rows)
    again = rows.versions["digits", 3]
    again.artifact, again.config = rows.versions["digits", 2].artifact, rows.versions["digits", 2].config
    again.save()
    ended(services.roll_back(COMMAND, **PROD, reason="wrong labels"))

    with pytest.raises(errors.VersionBanned):
        services.promote(COMMAND, **PROD, version=3, confirm=["hold"])


def packed_anew(rows: FleetRows, number: int, *, like: int) -> None:
    """Give a version the files of another, in an archive of its own."""
    again, first = rows.versions["digits", number], rows.versions["digits", like]
    assert again.artifact is not None
    assert first.artifact is not None
    again.artifact.files = [*first.artifact.files, {"path": "config.pbtxt", "size_bytes": 9, "sha256": str(number)}]
    again.artifact.save()


def test_the_same_files_in_another_archive_are_banned_too(rows: FleetRows) -> None:
    live(rows)
    packed_anew(rows, 3, like=2)
    ended(services.roll_back(COMMAND, **PROD, reason="wrong labels"))

    with pytest.raises(errors.VersionBanned, match="wrong labels"):
        services.promote(COMMAND, **PROD, version=3, confirm=["hold"])


def test_what_is_gone_back_to_is_not_banned_with_the_archive_that_it_came_in(rows: FleetRows) -> None:
    live(rows)
    packed_anew(rows, 1, like=2)

    services.roll_back(COMMAND, **PROD, reason="the number matters to clients")

    assert not Ban.objects.exists()


def test_what_is_gone_back_to_is_never_banned_with_what_it_equals(rows: FleetRows) -> None:
    live(rows)
    one, two = rows.versions["digits", 1], rows.versions["digits", 2]
    one.artifact, one.config = two.artifact, two.config
    one.save()

    services.roll_back(COMMAND, **PROD, reason="the number matters to clients")

    assert not Ban.objects.exists()


def test_a_rollback_can_leave_the_version_unbanned(rows: FleetRows) -> None:
    live(rows)
    services.roll_back(COMMAND, **PROD, reason="the clients are not ready", ban=False)

    assert not Ban.objects.exists()


@pytest.mark.parametrize(("to", "has_ended"), [(None, False), (1, False), (1, True)])
def test_a_rollback_without_a_ban_is_asked_for_again_with_one(
    rows: FleetRows, to: int | None, *, has_ended: bool
) -> None:
    live(rows)
    first = services.roll_back(COMMAND, **PROD, reason="the clients are not ready", ban=False)
    if has_ended:
        first = ended(first)

    again = services.roll_back(COMMAND, **PROD, to=to, reason="it is wrong as well")

    assert again == first
    assert [(ban.version.number, ban.reason, ban.rollout) for ban in Ban.objects.all()] == [
        (2, "it is wrong as well", first)
    ]


def test_who_rolls_back_after_somebody_who_left_it_unbanned_is_told_how_to_ban_it(rows: FleetRows) -> None:
    live(rows)
    ended(services.roll_back(COMMAND, **PROD, reason="the clients are not ready", ban=False))

    with pytest.raises(errors.NothingToRollBackTo, match=r"to ban digits version 2 as well, roll back to 1$"):
        services.roll_back(COMMAND, **PROD, reason="it is wrong")

    assert not Ban.objects.exists()


def test_what_a_ban_was_lifted_from_is_not_banned_by_asking_again(rows: FleetRows) -> None:
    live(rows)
    ended(services.roll_back(COMMAND, **PROD, reason="slow"))
    services.lift_ban(COMMAND, ban=Ban.objects.get().pk, reason="it was the network")

    with pytest.raises(errors.AlreadyActive):
        services.roll_back(COMMAND, **PROD, to=1, reason="slow")

    assert not Ban.objects.filter(lifted_at=None).exists()


def test_a_ban_is_lifted_once_and_with_a_reason(rows: FleetRows) -> None:
    live(rows)
    services.roll_back(COMMAND, **PROD, reason="slow")
    ban = Ban.objects.get().pk

    with pytest.raises(errors.ReasonMissing):
        services.lift_ban(COMMAND, ban=ban, reason=" ")
    services.lift_ban(COMMAND, ban=ban, reason="mended")
    with pytest.raises(errors.BanLifted, match="command line"):
        services.lift_ban(COMMAND, ban=ban, reason="mended")
    with pytest.raises(errors.BanUnknown, match="4711"):
        services.lift_ban(COMMAND, ban=4711, reason="mended")


def test_a_held_placement_takes_no_promotion_until_that_is_confirmed(rows: FleetRows) -> None:
    services.hold(COMMAND, **PROD, reason="incident")

    with pytest.raises(errors.PlacementHeld, match="incident"):
        services.promote(COMMAND, **PROD, version=2)
    with pytest.raises(errors.PlacementHeld):
        services.unload(COMMAND, **PROD, reason="not needed")
    services.promote(COMMAND, **PROD, version=2, confirm=["hold"])

    assert selectors.get_placement("prod", "digits").held_at is None
    assert audit.events(verb="unhold").count() == 1


def test_letting_go_needs_a_hold_and_a_reason(rows: FleetRows) -> None:
    with pytest.raises(errors.PlacementNotHeld):
        services.unhold(COMMAND, **PROD, reason="over")
    services.hold(COMMAND, **PROD, reason="incident")
    with pytest.raises(errors.ReasonMissing):
        services.unhold(COMMAND, **PROD, reason="")

    assert services.unhold(COMMAND, **PROD, reason="over").held_at is None


def test_a_hold_keeps_the_standby(rows: FleetRows) -> None:
    live(rows)
    late = timezone.now() + timedelta(days=1)
    before = selectors.expired_standbys(late)

    services.hold(COMMAND, **PROD, reason="incident")

    assert (len(before), selectors.expired_standbys(late)) == (1, [])
