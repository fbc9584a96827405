"""A real browser in front of the console."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import BrowserContext, Page
from pytest_django.live_server_helper import LiveServer

from tests.factories.fleets import FleetRows, small_fleet

# By the browser about the policy of contents, by htmx about a page's own attributes; that nobody answers
# (`htmx:sendError`) is no fault of the page, which says so itself.
COMPLAINT = re.compile(r"Content Security Policy|returned no matches|htmx:(?!sendError)\w*[eE]rror")


@pytest.fixture
def rows(transactional_db: None) -> FleetRows:
    """Two environments, three servers, one model with history."""
    return small_fleet()


@pytest.fixture
def signed_in(transactional_db: None) -> str:
    """The session of an admin."""
    client = Client()
    client.force_login(User.objects.create_superuser("alice", password="correct horse battery"))
    return client.cookies[settings.SESSION_COOKIE_NAME].value


@pytest.fixture
def opened(
    signed_in: str, live_server: LiveServer, new_context: Callable[..., BrowserContext]
) -> Iterator[Callable[..., Page]]:
    """Opens a page of the console as an admin; fails the test if the browser had anything to complain about."""
    complaints: list[str] = []

    def go(where: str, **options: Any) -> Page:
        context = new_context(base_url=live_server.url, **options)
        context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": signed_in, "url": live_server.url}])
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda said: complaints.extend([said.text] if COMPLAINT.search(said.text) else []))
        page.goto(where)
        return page

    yield go
    assert complaints == []
