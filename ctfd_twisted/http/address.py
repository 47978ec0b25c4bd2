"""Whose address a request comes from, when proxies that we trust stand in front."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

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
    parsed = _parsed(address)
    return parsed is not None and any(parsed in network for network in trusted)


@lru_cache(maxsize=10_000)
def _parsed(address: str) -> IPv4Address | IPv6Address | None:
    """*address* to compare, None for what is none (a Unix socket's peer); the same few hundred ask all the time."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return None
    return parsed.ipv4_mapped or parsed if isinstance(parsed, IPv6Address) else parsed


@lru_cache(maxsize=10_000)
def neighbourhood(address: str) -> str:
    """What requests from *address* are counted for: an IPv4 address itself, the /64 of an IPv6 one.

    A machine in an IPv6 network may have any address of its /64, and so all of them.
    """
    parsed = _parsed(address)
    return str(IPv6Network((parsed, 64), strict=False)) if isinstance(parsed, IPv6Address) else address


def _hops(forwarded: Sequence[str]) -> Iterable[str]:
    for value in forwarded:
        for hop in value.split(","):
            if stripped := hop.strip():
                yield stripped.removeprefix("[").removesuffix("]")
