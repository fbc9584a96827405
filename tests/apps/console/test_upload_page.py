"""The page on which a version is uploaded, before it is."""

from django.test import Client
from pytest_django import Settings

from tests.factories.fleets import FleetRows


def test_how_much_somebody_may_send_is_said_before_they_do(
    rows: FleetRows, operator: Client, boss: Client, settings: Settings
) -> None:
    settings.CONCH = settings.CONCH | {"max_upload_bytes": 3 << 30, "operator_max_upload_bytes": 5 << 20}

    pages = [client.get("/models/digits/upload/").content.decode() for client in (operator, boss)]

    assert ["You may send 5.0 MiB at once" in pages[0], "You may send 3.0 GiB at once" in pages[1]] == [True, True]
