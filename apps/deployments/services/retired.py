"""Runs and servers that are retired in the very moment in which a run is made on them."""

from collections.abc import Collection, Iterable

from django.db import connection

from apps.deployments.models import Run
from apps.fleet.models import Server
from apps.fleet.states import ServerState


def make_runs(runs: Iterable[Run]) -> list[Run]:
    """These runs, but for those on servers that have just been retired; in the caller's transaction."""
    made = Run.objects.bulk_create(runs)
    gone = retired_among([run.server_id for run in made]) if made else {}
    if gone:
        Run.objects.filter(pk__in=[run.pk for run in made if run.server_id in gone]).delete()
    return [run for run in made if run.server_id not in gone]


def retired_among(server_ids: Collection[int]) -> dict[int, str]:
    """Those that are retired, by key, with their names; asked after the runs are made, in the same transaction.

    The runs hold their servers' keys: whoever retires one of them waits, and then sees us. SQLite has one writer at
    a time anyway.
    """
    if connection.features.has_select_for_update:
        # Foreign keys are looked at when we commit, unless they are asked for.
        connection.check_constraints()
    gone = Server.objects.filter(pk__in=server_ids, state=ServerState.RETIRED)
    return dict(gone.values_list("pk", "name"))
