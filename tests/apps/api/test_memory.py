"""A server's memory over REST."""

import pytest
from django.test import Client

from tests.apps.api import rows
from tests.factories.memory import CARD, GIB, reading

pytestmark = pytest.mark.django_db


def test_what_was_not_read_is_unknown_and_empty(root: Client) -> None:
    rows.server("t1")

    told = root.get("/api/v1/servers/t1/memory").json()

    assert told == {"devices": [], "at": None, "changes": [], "leaks": []}


def test_the_devices_the_changes_and_what_leaked(root: Client) -> None:
    server = rows.server("t1")
    reading(server, "digits", 2, before=GIB, after=3 * GIB)
    reading(server, "digits", 2, before=3 * GIB, after=3 * GIB, action="unload")

    told = root.get("/api/v1/servers/t1/memory").json()

    assert told["devices"] == [{"kind": "gpu", "device": CARD, "used_bytes": 3 * GIB, "total_bytes": 16 * GIB}]
    assert [(one["action"], one["moved_bytes"]) for one in told["changes"]] == [("unload", None), ("load", 2 * GIB)]
    assert [(one["version"], one["missing_bytes"]) for one in told["leaks"]] == [(2, 2 * GIB)]


def test_an_unknown_server_has_no_memory(root: Client) -> None:
    assert root.get("/api/v1/servers/nobody/memory").status_code == 404
