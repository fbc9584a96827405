"""Which role each verb needs, and which role a token's scope stands for. Pure; the only such table."""

from collections.abc import Mapping
from enum import StrEnum


class Role(StrEnum):
    """What a person or token may do; each includes the ones before it."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"


VIEWER, OPERATOR, ADMIN = Role

VIEW = "view"
DISCOVER = "discover"
# Looking is not divided by environment: who may see one may see all.
SEE_IN_SERVICE = "see_in_service"
LOOKING = frozenset({VIEW, DISCOVER, SEE_IN_SERVICE})

VERBS: Mapping[str, Role] = {
    VIEW: VIEWER,
    DISCOVER: VIEWER,
    SEE_IN_SERVICE: VIEWER,
    "register_model": OPERATOR,
    "update_model": OPERATOR,
    "add_version": OPERATOR,
    # Above the operators' own limit, up to the limit of all.
    "add_large_version": ADMIN,
    "archive_version": OPERATOR,
    "remove_version_bytes": OPERATOR,
    "point_alias": OPERATOR,
    "remove_alias": OPERATOR,
    "add_sample": OPERATOR,
    "remove_sample": OPERATOR,
    "promote": OPERATOR,
    "roll_back": OPERATOR,
    "unload": OPERATOR,
    "abort": OPERATOR,
    "hold": OPERATOR,
    "unhold": OPERATOR,
    "lift_ban": OPERATOR,
    "pause": OPERATOR,
    "resume": OPERATOR,
    "approve": OPERATOR,
    "retry_run": OPERATOR,
    "skip_gate": OPERATOR,
    "schedule_warmup": OPERATOR,
    "try_version": OPERATOR,
    "set_overlay": OPERATOR,
    "recheck_server": OPERATOR,
    "reconcile_server": OPERATOR,
    "cordon_server": OPERATOR,
    "add_environment": ADMIN,
    "update_environment": ADMIN,
    "change_policy": ADMIN,
    "add_repository": ADMIN,
    "add_server": ADMIN,
    "update_server": ADMIN,
    "retire_server": ADMIN,
    "issue_token": ADMIN,
    "revoke_token": ADMIN,
    "grant_role": ADMIN,
    "add_user": ADMIN,
    "set_password": ADMIN,
    "close_user": ADMIN,
}

SD_READ, IN_SERVICE_READ = "sd:read", "in-service:read"
# These stand for no role: each opens one verb and nothing else, for machines whose secret lies about in a file.
NARROW: Mapping[str, str] = {SD_READ: DISCOVER, IN_SERVICE_READ: SEE_IN_SERVICE}
SCOPES: Mapping[str, Role | None] = {
    "read": VIEWER,
    SD_READ: None,
    IN_SERVICE_READ: None,
    "deploy": OPERATOR,
    "admin": ADMIN,
}

_ORDER = tuple(Role)


def is_enough(role: str, verb: str) -> bool:
    """Whether `role` may do `verb`; KeyError for a verb that is not in the table."""
    return _ORDER.index(Role(role)) >= _ORDER.index(VERBS[verb])


def do_scopes_allow(scopes: frozenset[str], verb: str) -> bool:
    """Whether one of a token's scopes covers `verb`."""
    roles = [role for scope in scopes if (role := SCOPES.get(scope)) is not None]
    return any(is_enough(role, verb) for role in roles) or any(NARROW.get(scope) == verb for scope in scopes)
