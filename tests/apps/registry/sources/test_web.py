"""HTTPS against a real server: parts, redirects, time, trust, and names that lead inwards."""

import ipaddress
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from apps.common.errors import ControlPlaneError
from apps.registry.sources.errors import (
    AddressNotAllowed,
    RedirectNotAllowed,
    SourceMissing,
    SourceRefused,
    SourceUnreachable,
)
from apps.registry.sources.opened import Opened, Position
from apps.registry.sources.policy import Policy
from apps.registry.sources.references import parse
from apps.registry.sources.web import Web
from demo.parts.ports import free_port
from tests.fixtures.https import Site, https_site, reply

LOOPBACK = (ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("::1/128"))
CONTENT = bytes(range(256)) * 40


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with https_site(tmp_path_factory.mktemp("https")) as site:
        yield site


@pytest.fixture
def site(running: Site) -> Site:
    running.answers.clear()
    running.asked.clear()
    return running


def policy(site: Site, *hosts: str, networks: Any = LOOPBACK) -> Policy:
    return Policy(hosts=(site.place, *hosts), networks=networks, certificates=str(site.certificate))


def read(web: Web, address: str, at: Position = Position()) -> tuple[Opened, bytes]:
    with web.opened(parse(address), at) as opened:
        return opened, b"".join(opened.pieces)


def resolver(*addresses: str) -> Any:
    """Answers as a name server would that somebody else owns."""

    def resolve(_host: str, port: int, **_: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

    return resolve


def test_a_file_comes_whole_with_its_size_and_mark(site: Site) -> None:
    opened, content = read(Web(policy(site)), site.file("/a/x.zip", CONTENT))

    assert (opened.filename, opened.size_bytes, opened.mark, opened.offset_bytes) == ("x.zip", len(CONTENT), '"one"', 0)
    assert content == CONTENT


def test_the_rest_of_the_same_file_is_enough(site: Site) -> None:
    opened, content = read(Web(policy(site)), site.file("/x", CONTENT), Position(1_000, '"one"'))

    assert (opened.offset_bytes, opened.size_bytes) == (1_000, len(CONTENT))
    assert content == CONTENT[1_000:]


def test_another_file_by_now_comes_whole(site: Site) -> None:
    opened, content = read(Web(policy(site)), site.file("/x", CONTENT, tag='"two"'), Position(1_000, '"one"'))

    assert (opened.offset_bytes, opened.mark) == (0, '"two"')
    assert content == CONTENT


def test_a_file_without_a_strong_tag_has_no_mark(site: Site) -> None:
    opened, _ = read(Web(policy(site)), site.file("/x", CONTENT, tag='W/"weak"'))

    assert opened.mark == ""


def test_a_redirect_to_an_allowed_place_is_followed(site: Site) -> None:
    site.file("/x", CONTENT)
    site.redirect("/second", f"https://{site.place}/x")

    assert read(Web(policy(site)), site.redirect("/first", "/second"))[1] == CONTENT


@pytest.mark.parametrize(
    "to",
    [
        "http://localhost/x",
        "https://127.0.0.1/x",
        "https://169.254.169.254/latest/meta-data/",
        "https://[::ffff:127.0.0.1]/x",
        "//evil.example.org/x",
        "s3://models/x",
        "file:///etc/passwd",
        "",
    ],
)
def test_a_redirect_to_any_other_place_is_not_followed(to: str, site: Site) -> None:
    with pytest.raises(RedirectNotAllowed):
        read(Web(policy(site)), site.redirect("/x", to))

    assert len(site.asked) <= 6


@pytest.mark.parametrize("inner", ["127.0.0.1", "169.254.169.254", "[::ffff:127.0.0.1]", "[::1]"])
def test_a_redirect_to_an_allowed_name_that_leads_inwards_is_not_followed(inner: str, site: Site) -> None:
    only_here = (ipaddress.ip_network("127.0.0.0/32"),)
    web = Web(policy(site, inner, networks=only_here), resolve=socket.getaddrinfo)

    with pytest.raises(AddressNotAllowed):
        read(web, f"https://{inner}/x")


def test_a_name_that_leads_inwards_is_refused_before_anything_is_sent(site: Site) -> None:
    address = site.file("/x", CONTENT)

    with pytest.raises(AddressNotAllowed):
        read(Web(policy(site, networks=())), address)

    assert site.asked == []


def test_a_name_that_is_none_is_refused_for_good(site: Site) -> None:
    with pytest.raises(SourceRefused):
        read(Web(Policy(hosts=("*.example.org",))), f"https://{'a' * 64}.example.org/x")


def test_a_path_in_any_script_is_asked_for_as_browsers_do(site: Site) -> None:
    site.file("/mod%C3%A8le", CONTENT)

    assert read(Web(policy(site)), site.redirect("/x", "/mod\u00e8le"))[1] == CONTENT


def test_every_address_of_a_name_must_be_allowed(site: Site) -> None:
    web = Web(policy(site), resolve=resolver("127.0.0.1", "192.168.0.1"))

    with pytest.raises(AddressNotAllowed, match=r"192\.168\.0\.1"):
        read(web, site.file("/x", CONTENT))


def test_the_address_that_was_checked_is_the_one_spoken_to(site: Site) -> None:
    answers = iter([["127.0.0.1"], ["192.168.0.1"]])

    def rebinding(host: str, port: int, **_: Any) -> Any:
        return resolver(*next(answers))(host, port)

    site.file("/x", CONTENT)
    web = Web(policy(site, f"files.example.org:{site.port}"), resolve=rebinding)

    assert read(web, f"https://files.example.org:{site.port}/x")[1] == CONTENT
    assert site.asked[0][1]["Host"] == f"files.example.org:{site.port}"


def test_the_certificate_must_be_the_name_s_though_the_address_is_spoken_to(site: Site) -> None:
    web = Web(policy(site, f"other.example.org:{site.port}"), resolve=resolver("127.0.0.1"))

    with pytest.raises(SourceRefused, match="certificate"):
        read(web, f"https://other.example.org:{site.port}/x")


def test_an_unknown_authority_is_not_trusted(site: Site) -> None:
    untrusting = Policy(hosts=(site.place,), networks=LOOPBACK)

    with pytest.raises(SourceRefused) as refused:
        read(Web(untrusting), site.file("/x", CONTENT))

    assert "CONCH_FETCH_CERTIFICATES" in refused.value.hint


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (404, SourceMissing),
        (410, SourceMissing),
        (401, SourceRefused),
        (403, SourceRefused),
        (400, SourceRefused),
        (204, SourceRefused),
        (429, SourceUnreachable),
        (500, SourceUnreachable),
        (503, SourceUnreachable),
    ],
)
def test_each_answer_gets_its_name(status: int, error: type[ControlPlaneError], site: Site) -> None:
    with pytest.raises(error, match=f"/x: the answer is {status}"):
        read(Web(policy(site)), site.status("/x", status))


@pytest.mark.parametrize("told", ["bytes 1-2", f"bytes 1-{'9' * 5_000}/*", f"bytes {'1' * 5_000}-2/3", "bytes 1-2/x"])
def test_a_part_that_nobody_can_place_is_asked_for_again(told: str, site: Site) -> None:
    site.answers["/x"] = lambda handler: reply(handler, 206, CONTENT, Content_Range=told)

    with pytest.raises(SourceUnreachable, match="another part"):
        read(Web(policy(site)), f"https://{site.place}/x", Position(1, '"one"'))


def test_nobody_there_is_said_and_may_be_tried_again(site: Site) -> None:
    place = f"localhost:{free_port()}"

    with pytest.raises(SourceUnreachable, match="refused"):
        read(Web(policy(site, place), resolve=resolver("127.0.0.1")), f"https://{place}/x")


def test_a_name_that_does_not_exist_is_said(site: Site) -> None:
    with pytest.raises(SourceUnreachable, match="cannot be looked up"):
        read(Web(policy(site, "nowhere.invalid")), "https://nowhere.invalid/x")


def test_a_body_that_breaks_off_in_chunks_is_said(site: Site) -> None:
    def breaking(handler: Any) -> None:
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        handler.wfile.write(b"5\r\nhello\r\nff\r\nonly")
        handler.close_connection = True

    site.answers["/x"] = breaking

    with pytest.raises(SourceUnreachable, match="broke off"):
        read(Web(policy(site)), f"https://{site.place}/x")


def test_a_secret_in_the_query_is_sent_and_not_told(site: Site) -> None:
    site.answers["/x"] = lambda handler: reply(handler, 403, b"no")

    with pytest.raises(SourceRefused) as refused:
        read(Web(policy(site)), f"https://{site.place}/x?signature=hunter2")

    assert site.asked[0][0] == "/x?signature=hunter2"
    assert "hunter2" not in refused.value.message


def test_a_redirect_round_in_circles_ends(site: Site) -> None:
    with pytest.raises(RedirectNotAllowed, match="more than 5"):
        read(Web(policy(site)), site.redirect("/x", "/x"))
