"""Network addresses: as they are counted, and whether they are in a network or this machine's own."""

from __future__ import annotations

from collections.abc import Collection
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network


def network_of(host: str) -> str:
    """Return an address as it is counted; for IPv6 its 64-bit network, because one host can have all of that."""
    try:
        address = address_of(host)
        return str(ip_network(f"{host}/64", strict=False)) if address.version == 6 else str(address)
    except ValueError:
        return host


def address_of(host: str) -> IPv4Address | IPv6Address:
    """Return a peer's address; an IPv4 address that a listener on IPv6 sees as IPv6 is returned as IPv4.

    Raises:
        ValueError: The text is not an address.
    """
    address = ip_address(host)
    return getattr(address, "ipv4_mapped", None) or address


def is_within(host: str, networks: Collection[IPv4Network | IPv6Network]) -> bool:
    """Whether a host is an address in one of these networks."""
    try:
        address = address_of(host)
    except ValueError:
        return False
    return any(address in network for network in networks)


def is_loopback(host: str) -> bool:
    """Whether an address or a name leads to this machine and nowhere else."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.rstrip(".").lower() == "localhost"
