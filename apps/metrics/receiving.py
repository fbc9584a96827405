"""An answer received whole, in time and up to a size: one that drips in, or never ends, holds nobody up."""

from io import BytesIO
from time import monotonic

import requests
from urllib3.exceptions import DecodeError, ProtocolError, ReadTimeoutError

_PIECE_BYTES = 1 << 16


class AnswerTooLong(requests.RequestException):
    """More than anybody could draw."""


def receive(response: requests.Response, *, within_s: float, most_bytes: int) -> None:
    """Put the body where the connection was, as requests would, or raise what requests would.

    Its own time-out begins anew with each byte.
    """
    try:
        response.raw = BytesIO(_body(response, until_s=monotonic() + within_s, most_bytes=most_bytes))
    except ReadTimeoutError as error:
        raise requests.Timeout(error) from error
    except ProtocolError as error:
        raise requests.ConnectionError(error) from error
    except DecodeError as error:
        raise requests.exceptions.ContentDecodingError(error) from error


def _body(response: requests.Response, *, until_s: float, most_bytes: int) -> bytes:
    """All of it; the connection is not kept where it does not end."""
    body = bytearray()
    while piece := response.raw.read1(_PIECE_BYTES, decode_content=True):
        body += piece
        if len(body) > most_bytes:
            response.close()
            raise AnswerTooLong(f"more than {most_bytes:,} bytes")
        if monotonic() > until_s:
            response.close()
            raise requests.Timeout("the answer does not end")
    return bytes(body)
