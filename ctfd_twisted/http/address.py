"""Whose address a request comes from, when proxies that we trust stand in front."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address

Network = IPv4Network | IPv6Network


def client_address(peer: str, forwarded: Sequence[str], trusted: Sequence[Network]) -> str:
    """The client's address: the first from the right in ``X-Forwarded-For`` plus *peer* that is no trusted proxy.

    *forwarded* holds the header's values in order of appearance. Where every address is trusted, or what a proxy sent
    is no address, the peer is all that is known.
    """
    if not trusted or not is_trusted(peer, trusted):
        return peer
    for hop in reversed(list(_hops(forwarded))):
        try:
            address = str(ip_address(hop))
        except ValueError:
            return peer
        if not is_trusted(address, trusted):
            return address
    return peer


def is_trusted(address: str, trusted: Iterable[Network]) -> bool:
    """Whether *address* lies in one of the networks."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return False  # a Unix socket's peer has no address
    if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped is not None:
        parsed = parsed.ipv4_mapped
    return any(parsed in network for network in trusted)


def _hops(forwarded: Sequence[str]) -> Iterable[str]:
    for value in forwarded:
        for hop in value.split(","):
            if stripped := hop.strip():
                yield stripped.removeprefix("[").removesuffix("]")
