"""How a row changes state: one UPDATE that only succeeds from a state the table allows."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from apps.common.errors import IllegalTransition

if TYPE_CHECKING:
    from django.db.models import QuerySet


def sources(moves: Mapping[str, frozenset[str]], to: str) -> list[str]:
    """The states from which `to` may be reached."""
    return [state for state, targets in moves.items() if to in targets]


def move(row: Any, to: str, **fields: Any) -> None:
    """Bring `row` to state `to` and set `fields`, in one statement.

    The database, not this process's copy of the row, decides whether the move is allowed: of two
    workers moving the same row one gets `IllegalTransition`.
    """
    if not try_move(row, to, **fields):
        raise IllegalTransition(f"{row}: cannot go from {row.state} to {to}", state=row.state, to=str(to))


def try_move(row: Any, to: str, **fields: Any) -> bool:
    """As `move`, but answers False when the row is not in a state that allows it; `row.state` is what it is then."""
    allowed = sources(row.MOVES, to)
    changed = type(row).objects.filter(pk=row.pk, state__in=allowed).update(state=to, **fields)
    if changed:
        row.state = to
        for name, value in fields.items():
            setattr(row, name, value)
    else:
        # Somebody else was first: whoever tells of it must not tell the state from before.
        row.state = type(row).objects.values_list("state", flat=True).filter(pk=row.pk).first() or row.state
    return bool(changed)


def move_all(rows: "QuerySet[Any]", to: str, **fields: Any) -> int:
    """Bring every row of `rows` that may go there to state `to`, in one statement; how many went."""
    return rows.filter(state__in=sources(rows.model.MOVES, to)).update(state=to, **fields)
