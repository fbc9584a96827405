"""What a rollout's plan says, in words. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any

from apps.common.text import printable

SAID_CHARS = 200


def planned(plan: Mapping[str, Any], kind: str) -> Iterable[str]:
    """What was decided when it was asked for, in words."""
    hot, servers = plan.get("hot"), plan.get("servers")
    if isinstance(servers, list):
        yield f"{len(servers)} server{'' if len(servers) == 1 else 's'}: {', '.join(map(str, servers[:12]))}"
    if kind == "reconfigure":
        yield from _reconfiguring(plan)
    if kind == "rollback" and isinstance(hot, list) and isinstance(servers, list):
        yield "hot on every server" if len(hot) == len(servers) else f"hot on {len(hot)} of {len(servers)} servers"
    if plan.get("no_shadow"):
        yield printable(str(plan["no_shadow"]), limit=SAID_CHARS)
    left_out = plan.get("left_out")
    if isinstance(left_out, list) and left_out:
        yield f"left out: {', '.join(map(str, left_out[:12]))}"
    stays = plan.get("stays_loaded")
    if isinstance(stays, list) and stays:
        yield f"stays loaded: {', '.join(map(str, stays[:12]))}"
    for word in plan.get("confirmed", ()):
        yield f"confirmed: {word}"


def _reconfiguring(plan: Mapping[str, Any]) -> Iterable[str]:
    beside = "beside the old instances" if plan.get("no_shadow") else "tried aside, then beside the old instances"
    yield "in place: nothing starts again" if plan.get("hot") else beside
    if plan.get("at_once"):
        yield "goes back: on every server at once, unapproved"
