"""Memory on pages: of a server, and in the plan of a promotion."""

from collections.abc import Callable

import pytest
from django.test import Client

from tests.factories.fleets import small_fleet
from tests.factories.memory import GIB, reading

pytestmark = pytest.mark.django_db


def page_of(viewer: Client, where: str) -> str:
    return viewer.get(where).content.decode()


def test_a_server_shows_what_loads_took_and_a_leak_with_the_way_out(sign_in: Callable[..., Client]) -> None:
    rows, viewer = small_fleet(), sign_in("viewer")
    before = page_of(viewer, "/servers/prod-1/")
    reading(rows.servers["prod-1"], "digits", 2, before=GIB, after=3 * GIB)
    loaded = page_of(viewer, "/servers/prod-1/")
    reading(rows.servers["prod-1"], "digits", 2, before=3 * GIB, after=3 * GIB, action="unload")

    leaking = page_of(viewer, "/servers/prod-1/")

    assert "Unknown: memory is read around loads" in before
    assert "digits 2 loaded" in loaded
    assert "+2.0 GiB" in loaded
    assert "did not come back" not in loaded
    assert "2.0 GiB did not come back" in leaking
    assert "Restart this server" in leaking


def test_another_configuration_is_called_so_with_what_it_changed(sign_in: Callable[..., Client]) -> None:
    rows, viewer = small_fleet(), sign_in("viewer")
    reading(rows.servers["prod-1"], "digits", 2, before=3 * GIB, after=GIB, action="reconfigure")

    told = page_of(viewer, "/servers/prod-1/")

    assert "digits 2 under another configuration" in told
    assert "−2.0 GiB" in told


def test_a_plan_says_in_words_where_memory_is_short(sign_in: Callable[..., Client]) -> None:
    rows, viewer = small_fleet(), sign_in("viewer")
    where = "/models/digits/plan/?environment=prod&version=2"
    unknown = page_of(viewer, where)
    reading(rows.servers["staging-1"], "digits", 2, before=GIB, after=5 * GIB)
    reading(rows.servers["prod-1"], "digits", 1, before=9 * GIB, after=13 * GIB)

    short = page_of(viewer, where)

    assert "Memory is short" not in unknown
    assert "unknown" in unknown
    assert "it does not fit into the memory of prod-1" in short
    assert "4.0 GiB of 3.0 GiB free" in short
