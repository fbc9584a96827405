"""Files over HTTPS. Each address is looked up once, checked, and the checked one is spoken to; redirects too."""

import http.client
import re
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin

from apps.common.text import printable
from apps.registry.sources.errors import (
    RedirectNotAllowed,
    ReferenceInvalid,
    ReferenceNotAllowed,
    SourceMissing,
    SourceRefused,
    SourceUnreachable,
)
from apps.registry.sources.opened import Opened, Position
from apps.registry.sources.policy import Policy
from apps.registry.sources.references import Reference, parse

CONNECT_TIMEOUT_S, READ_TIMEOUT_S = 10.0, 30.0
MAX_REDIRECTS = 5
READ_BYTES = 1 << 20
OK, PARTIAL, RANGE_PAST_END = 200, 206, 416
REDIRECTS = frozenset({301, 302, 303, 307, 308})
MISSING, REFUSED = frozenset({404, 410}), frozenset({401, 403, 407})
LATER = frozenset({408, 425, 429})
# No more digits than a size on any disk has: Python refuses to read thousands of them, with an error of its own.
_RANGE = re.compile(r"bytes (?P<from>\d{1,18})-\d{1,18}/(?P<size>\d{1,18}|\*)")
_PLACE = re.compile(r"(?P<host>\[.*\]|[^:]*)(?::(?P<port>\d+))?")
Resolve = Callable[..., Any]


class _Pinned(http.client.HTTPSConnection):
    """Speaks to one address, whatever the name leads to by now; the certificate must still be the name's."""

    def __init__(self, host: str, port: int, *, address: str, context: ssl.SSLContext) -> None:
        super().__init__(host, port, timeout=READ_TIMEOUT_S, context=context)
        self._address = address
        self._tls = context

    def connect(self) -> None:
        """TCP to the address, TLS with the name."""
        plain = socket.create_connection((self._address, self.port), timeout=CONNECT_TIMEOUT_S)
        self.sock = self._tls.wrap_socket(plain, server_hostname=self.host)
        self.sock.settimeout(READ_TIMEOUT_S)


@dataclass(frozen=True, slots=True)
class Web:
    """The allowed part of the web; `resolve` looks names up."""

    policy: Policy
    resolve: Resolve = socket.getaddrinfo

    @contextmanager
    def opened(self, reference: Reference, at: Position) -> Iterator[Opened]:
        """The bytes behind the reference, after at most five redirects."""
        with ExitStack() as connections:
            for _ in range(MAX_REDIRECTS + 1):
                connection = connections.enter_context(closing(self._connect(reference)))
                answer = _ask(connection, reference, at)
                if answer.status not in REDIRECTS:
                    _require_bytes(answer, reference)
                    yield _opened(answer, reference, at)
                    return
                reference = self._next(reference, answer.headers.get("Location", ""))
            raise RedirectNotAllowed(f"{reference.shown}: more than {MAX_REDIRECTS} redirects")

    def _next(self, reference: Reference, location: str) -> Reference:
        target = urljoin(f"https://{reference.place}{reference.path}", location)
        shown = printable(target.partition("?")[0], limit=200)
        if not target.startswith("https://"):
            raise RedirectNotAllowed(f"{reference.shown} leads to {shown}, which is not https")
        try:
            following = parse(target)
            self.policy.require_allowed(following)
        except (ReferenceInvalid, ReferenceNotAllowed) as error:
            raise RedirectNotAllowed(f"{reference.shown} leads to {shown}, which is not allowed") from error
        return following

    def _connect(self, reference: Reference) -> _Pinned:
        host, port = _host_and_port(reference.place)
        context = ssl.create_default_context()
        if self.policy.certificates:
            context.load_verify_locations(self.policy.certificates)
        return _Pinned(host, port, address=self._address(host, port), context=context)

    def _address(self, host: str, port: int) -> str:
        """The first address, when every one of them may be spoken to."""
        try:
            found = self.resolve(host, port, type=socket.SOCK_STREAM)
        except UnicodeError as error:
            raise SourceRefused(f"{printable(host, limit=80)}: this can be no host's name") from error
        except OSError as error:
            raise SourceUnreachable(f"{host}: the name cannot be looked up: {error.strerror or error}") from error
        addresses = [str(entry[4][0]) for entry in found]
        for address in addresses:
            self.policy.require_address(host, address)
        if not addresses:
            raise SourceUnreachable(f"{host}: the name leads nowhere")
        return addresses[0]


def _host_and_port(place: str) -> tuple[str, int]:
    found = _PLACE.fullmatch(place)
    return (found["host"].strip("[]"), int(found["port"] or 443)) if found else (place, 443)


def _ask(connection: _Pinned, reference: Reference, at: Position) -> http.client.HTTPResponse:
    headers = {"Accept-Encoding": "identity", "User-Agent": "conch"}
    if at.offset_bytes and at.mark:
        headers |= {"Range": f"bytes={at.offset_bytes}-", "If-Range": at.mark}
    try:
        connection.request("GET", reference.path, headers=headers)
        return connection.getresponse()
    except ssl.SSLCertVerificationError as error:
        raise SourceRefused(
            f"{reference.shown}: its certificate is not trusted: {error.verify_message}",
            hint="Add the authority's certificate to the file CONCH_FETCH_CERTIFICATES.",
        ) from error
    except (OSError, http.client.HTTPException) as error:
        raise SourceUnreachable(f"{reference.shown}: {_words(error)}") from error


def _words(error: Exception) -> str:
    return printable(str(getattr(error, "strerror", None) or error or type(error).__name__), limit=200)


def _require_bytes(answer: http.client.HTTPResponse, reference: Reference) -> None:
    status, said = (
        answer.status,
        f"{reference.shown}: the answer is {answer.status} {printable(answer.reason, limit=80)}",
    )
    if status in {OK, PARTIAL}:
        return
    if status in MISSING:
        raise SourceMissing(said)
    if status in REFUSED:
        raise SourceRefused(said, hint="Give an address that needs no sign-in, such as a presigned one.")
    if status in LATER or status >= 500 or status == RANGE_PAST_END:  # noqa: PLR2004
        raise SourceUnreachable(said)
    raise SourceRefused(said)


def _opened(answer: http.client.HTTPResponse, reference: Reference, at: Position) -> Opened:
    offset, size = 0, answer.length
    if answer.status == PARTIAL:
        found = _RANGE.fullmatch(answer.headers.get("Content-Range", ""))
        if found is None or int(found["from"]) != at.offset_bytes:
            raise SourceUnreachable(f"{reference.shown}: the answer is another part than was asked for")
        offset, size = at.offset_bytes, None if found["size"] == "*" else int(found["size"])
    return Opened(reference.filename, size, _mark(answer, at), offset, _pieces(answer, reference))


def _mark(answer: http.client.HTTPResponse, at: Position) -> str:
    """A strong tag, where parts are served; the same answer may come without it as a part."""
    if answer.status == PARTIAL:
        return at.mark
    tag = str(answer.headers.get("ETag", ""))
    can_go_on = answer.headers.get("Accept-Ranges", "").lower() == "bytes" and tag.startswith('"')
    return tag[:200] if can_go_on and tag.isprintable() else ""


def _pieces(answer: http.client.HTTPResponse, reference: Reference) -> Iterator[bytes]:
    try:
        while piece := answer.read1(READ_BYTES):
            yield piece
    except (OSError, http.client.HTTPException) as error:
        raise SourceUnreachable(f"{reference.shown}: it broke off: {_words(error)}") from error
