"""Who is acting, through which door, from where."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["user", "token", "system"]
Door = Literal["console", "api", "clock", "command"]


@dataclass(frozen=True, slots=True)
class Actor:
    """One acting party, as every service takes it and as the audit keeps it.

    `scopes` is None for people (their grants decide) and the token's scopes for tokens.
    `environment` is the only one a token may change anything in, or `*`.
    `address` is the client's IP address, or empty for Conch itself.
    """

    kind: Kind
    name: str
    door: Door
    user_id: int | None = None
    token_id: int | None = None
    scopes: frozenset[str] | None = None
    environment: str = "*"
    is_superuser: bool = False
    address: str = ""

    @property
    def identity(self) -> str:
        """The same for the same person or token, through whatever door."""
        return f"{self.kind}:{self.token_id or self.user_id or self.name}"


CLOCK = Actor(kind="system", name="conch", door="clock")
COMMAND = Actor(kind="system", name="command line", door="command")
