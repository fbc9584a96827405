"""Keeping drift: a row and an event when a difference begins and when it ends, and nothing in between."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

from django.db import transaction

from apps.audit.services import record
from apps.common.actor import CLOCK
from apps.common.names import SHADOW_SUFFIX
from apps.common.text import SHOWN_CHARS, printable
from apps.deployments.drift import PASSING
from apps.deployments.healing import Decision
from apps.deployments.models import Drift
from apps.deployments.selectors.drift import Look, open_rows
from apps.fleet.models import Server

NAMED = 5


def keep_drift(looks: Sequence[Look], *, now: datetime) -> None:
    """Open what is new and close what is gone, for the models that could be judged; of two workers one writes.

    Mostly there is neither, and nothing is locked to learn that.
    """
    if any(_news(looks, now=now)):
        _write(looks, now=now)


@transaction.atomic
def _write(looks: Sequence[Look], *, now: datetime) -> None:
    servers = {look.server.pk: look.server for look in looks}
    # Not stronger than needed: runs that begin meanwhile refer to these rows.
    list(Server.objects.select_for_update(no_key=True).filter(pk__in=servers).order_by("pk").values_list("pk"))
    began, ended = _news(looks, now=now)
    Drift.objects.bulk_create(began)
    Drift.objects.filter(pk__in=[row.pk for row in ended]).update(ended_at=now, next_try_at=None)
    _tell("drift_began", began, servers)
    _tell("drift_ended", ended, servers)


def _news(looks: Sequence[Look], *, now: datetime) -> tuple[list[Drift], list[Drift]]:
    """What is to be opened, and what is to be closed."""
    known = {(row.server_id, *_what(row)): row for row in open_rows([look.server.pk for look in looks])}
    wanted = {(look.server.pk, *each.key): each.reason for look in looks for each in look.differences}
    wanted = {key: reason for key, reason in wanted.items() if key[-1] not in PASSING}
    began = [
        Drift(server_id=key[0], model=key[1], version=key[2], kind=key[3], reason=_cut(reason), since=now)
        for key, reason in wanted.items()
        if key not in known
    ]
    judged = {look.server.pk: look.judged for look in looks}
    ended = [row for key, row in known.items() if key not in wanted and _owner(row) in judged[row.server_id]]
    return began, ended


def _what(row: Drift) -> tuple[str, int, str]:
    return row.model, row.version, row.kind


def _owner(row: Drift) -> str:
    """The placed model that a row belongs to; a shadow is its model's."""
    return row.model.removesuffix(SHADOW_SUFFIX)


def _cut(reason: str) -> str:
    return printable(reason, limit=SHOWN_CHARS)


def _tell(verb: str, rows: Iterable[Drift], servers: Mapping[int, Server]) -> None:
    """One event for each server and kind, however many versions."""
    together: dict[tuple[int, str], list[Drift]] = defaultdict(list)
    for row in rows:
        together[row.server_id, row.kind].append(row)
    for (server_id, kind), alike in together.items():
        server, models = servers[server_id], sorted({row.model for row in alike})
        record(
            CLOCK,
            verb,
            subject_kind="server",
            subject=server.name,
            environment=server.environment.name,
            model=models[0] if len(models) == 1 else "",
            reason=f"{kind}: {_named(alike)}"[:SHOWN_CHARS],
            kind=kind,
            versions=[{"model": row.model, "version": row.version} for row in alike[:100]],
        )


def _named(rows: Sequence[Drift]) -> str:
    names = [f"{row.model} {row.version}" if row.model else str(row.reason) for row in rows]
    return ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" * (len(names) > NAMED))


def note_decisions(decisions: Collection[Decision]) -> None:
    """Keep with the open rows what is being done about them; written when it has changed only."""
    by_case = {(one.case.server_id, one.case.model): one for one in decisions}
    for row in open_rows({server_id for server_id, _ in by_case}):
        decision = by_case.get((row.server_id, _owner(row)))
        if decision is None:
            continue
        said = {"why_not": decision.why_not[:500], "next_try_at": decision.next_at}
        if (row.why_not, row.next_try_at) != tuple(said.values()):
            Drift.objects.filter(pk=row.pk).update(**said)


def end_drift(server: Server, *, now: datetime) -> None:
    """Close all that is open on a server that leaves the fleet."""
    Drift.objects.filter(server=server, ended_at=None).update(ended_at=now, next_try_at=None)
