"""The door to a server itself: only workers and the services they call go through it, never a request handler."""

from apps.fleet.models import Server
from apps.fleet.sealing import unseal
from apps.serving.connections import connection
from apps.serving.protocol import Address, ServingBackend


def address(server: Server) -> Address:
    """Where the server listens, with the key to its control API opened."""
    return Address(
        name=server.name,
        grpc=server.grpc,
        http=server.http,
        metrics=server.metrics,
        control_key=server.control_key,
        control_value=unseal(server.sealed_control_value, server=server.name),
    )


def connect(server: Server) -> ServingBackend:
    """This process's connection to the server."""
    return connection(server.kind, address(server))
