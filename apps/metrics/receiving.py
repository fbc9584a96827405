"""Prometheus's answers received whole, with what goes wrong told as requests tells it."""

from functools import partial
from io import BytesIO

import requests
from urllib3.exceptions import DecodeError, ProtocolError, ReadTimeoutError

from apps.common import receiving


class AnswerTooLong(requests.RequestException):
    """More than anybody could draw."""


def receive(response: requests.Response, *, within_s: float, most_bytes: int) -> None:
    """Put the body where the connection was, as requests would, or raise what requests would.

    The connection of an answer that does not end is not kept.
    """
    read = partial(response.raw.read1, decode_content=True)
    try:
        response.raw = BytesIO(receiving.receive(read, within_s=within_s, most_bytes=most_bytes))
    except receiving.TooLong as error:
        response.close()
        raise AnswerTooLong(error) from error
    except receiving.TooSlow as error:
        response.close()
        raise requests.Timeout(error) from error
    except ReadTimeoutError as error:
        raise requests.Timeout(error) from error
    except ProtocolError as error:
        raise requests.ConnectionError(error) from error
    except DecodeError as error:
        raise requests.exceptions.ContentDecodingError(error) from error
