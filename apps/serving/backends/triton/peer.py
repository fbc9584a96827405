"""A second look at something that hung up on gRPC: did we knock at an HTTP door?"""

import http.client

from apps.common.errors import ControlPlaneError
from apps.serving.errors import NotAnInferenceServer, ServerUnreachable
from apps.serving.protocol import Address


def second_look(error: ControlPlaneError, address: Address, *, timeout_s: float) -> ControlPlaneError:
    """`error` itself, or NotAnInferenceServer when the peer closed on gRPC but answers HTTP/1.

    Triton's own HTTP port does just that, and it is the commonest wrong port to give.
    """
    if not isinstance(error, ServerUnreachable) or "Socket closed" not in error.message:
        return error
    if not _speaks_http(address.grpc, timeout_s=timeout_s):
        return error
    return NotAnInferenceServer(
        f"{address.name}: {address.grpc} speaks HTTP/1, not gRPC",
        hint="Give the server's gRPC port here (Triton's is 8001 unless it was started with another).",
        server=address.name,
    )


def _speaks_http(target: str, *, timeout_s: float) -> bool:
    connection = http.client.HTTPConnection(target, timeout=timeout_s)
    try:
        connection.request("GET", "/v2")
        connection.getresponse()
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
    return True
