"""From where bytes may be taken. Pure; everything is forbidden until it is allowed."""

import ipaddress
import os.path
from collections.abc import Sequence
from dataclasses import dataclass

from apps.registry.sources.errors import AddressNotAllowed, ReferenceNotAllowed
from apps.registry.sources.references import Kind, Reference

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
# Addresses that stand for an IPv4 address, which is what they lead to.
NAT64 = ipaddress.ip_network("64:ff9b::/96")


@dataclass(frozen=True, slots=True)
class Policy:
    """What this installation allows.

    `hosts` are names, with a port where it is not 443, or `*.example.com` for all below it. `buckets` are `bucket` or
    `bucket/prefix`. `networks` are private ones that allowed hosts may lie in. `certificates` is a file of authorities
    to trust besides the system's.
    """

    roots: Sequence[str] = ()
    hosts: Sequence[str] = ()
    networks: Sequence[Network] = ()
    buckets: Sequence[str] = ()
    certificates: str = ""
    mlflow_url: str = ""
    mlflow_token: str = ""

    def require_allowed(self, reference: Reference) -> None:
        """ReferenceNotAllowed unless the place is in its list; nothing is asked anywhere."""
        checks = {
            Kind.S3: (self._has_bucket, "CONCH_FETCH_BUCKETS"),
            Kind.WEB: (self._has_host, "CONCH_FETCH_HOSTS"),
            Kind.LOCAL: (self._has_root, "CONCH_FETCH_ROOTS"),
            Kind.MLFLOW: (self._has_mlflow, "CONCH_MLFLOW_URL"),
        }
        check, setting = checks[reference.kind]
        if not check(reference):
            raise ReferenceNotAllowed(
                f"{reference.shown}: this place is not allowed",
                hint=f"An admin can allow it in {setting}.",
                field="from",
            )

    def require_address(self, host: str, text: str) -> None:
        """AddressNotAllowed unless it is a public address or in an allowed network."""
        address = _meant(ipaddress.ip_address(text.partition("%")[0]))
        if any(address.version == network.version and address in network for network in self.networks):
            return
        if not address.is_global or address.is_multicast or address.is_reserved:
            raise AddressNotAllowed(f"{host} leads to {text}, which is not a public address", address=text)

    def _has_bucket(self, reference: Reference) -> bool:
        where = f"{reference.place}/{reference.path}"
        return any(where.startswith(f"{allowed.rstrip('/')}/") for allowed in self.buckets)

    def _has_host(self, reference: Reference) -> bool:
        return any(_fits(reference.place, allowed.lower()) for allowed in self.hosts)

    def _has_root(self, reference: Reference) -> bool:
        path = os.path.normpath(reference.path)
        return any(path.startswith(f"{os.path.normpath(root).rstrip('/')}/") for root in self.roots)

    def _has_mlflow(self, _reference: Reference) -> bool:
        return bool(self.mlflow_url)


def _fits(place: str, allowed: str) -> bool:
    return place == allowed or (allowed.startswith("*.") and place.endswith(allowed[1:]))


def _meant(address: Address) -> Address:
    """What the address leads to: IPv6 has many ways to write an IPv4 address."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address.ipv4_mapped or address.sixtofour:
        return address.ipv4_mapped or address.sixtofour or address
    if address.teredo:
        return address.teredo[1]
    if address in NAT64 or int(address) >> 32 == 0:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address
