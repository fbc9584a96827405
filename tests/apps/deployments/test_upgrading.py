"""What earlier releases have written is brought along by the migrations, on the database that production uses."""

from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from apps.deployments.models import PlacementChange
from tests.factories.fleets import FleetRows

BEFORE = [("deployments", "0013_tallies")]


def test_changes_of_overlay_from_before_they_were_kept_are_in_the_history(rows: FleetRows) -> None:
    moved = rows.rollout("digits", "prod", 1, 1, kind="reconfigure", reason="the queue was long")
    MigrationExecutor(connection).migrate(BEFORE)

    later = MigrationExecutor(connection)
    later.migrate([key for key in later.loader.graph.leaf_nodes() if key[0] == "deployments"])

    (change,) = PlacementChange.objects.all()
    assert (change.rollout, change.what, change.at) == (moved, "done", moved.finished_at)
    assert (change.active, change.reason) == (rows.versions["digits", 1], "the queue was long")
