"""How a server's state may move. Pure."""

from collections.abc import Mapping
from enum import StrEnum


class ServerState(StrEnum):
    """Where a server is between being named and being retired."""

    CHECKING = "checking"
    ACTIVE = "active"
    REFUSED = "refused"
    RETIRED = "retired"


S = ServerState

SERVER_MOVES: Mapping[str, frozenset[str]] = {
    S.CHECKING: frozenset({S.CHECKING, S.ACTIVE, S.REFUSED, S.RETIRED}),
    S.REFUSED: frozenset({S.CHECKING, S.RETIRED}),
    S.ACTIVE: frozenset({S.RETIRED}),
    S.RETIRED: frozenset(),
}
