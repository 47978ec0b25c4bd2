"""Who may ask: the key a request must carry, and the networks it may come from. Pure functions."""

import hashlib
import hmac
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Network = IPv4Network | IPv6Network

MAPPED = IPv6Network("::ffff:0:0/96")  # IPv4 addresses as a socket for both families shows them


def carries_key(authorization: Sequence[bytes], key: bytes) -> bool:
    """Whether the values of the header Authorization are *key*, bare or as ``Token KEY``.

    One value exactly: with two of them, programs disagree about which one counts.
    """
    if len(authorization) != 1:
        return False
    value = authorization[0]
    scheme, _, credentials = value.partition(b" ")
    bare = _same(value, key)
    token = _same(credentials.strip(), key) & (scheme.lower() == b"token")
    return bare | token


def _same(given: bytes, wanted: bytes) -> bool:
    """Equality in a time that tells nothing; digests are compared because compare_digest() betrays a length."""
    return hmac.compare_digest(hashlib.sha256(given).digest(), hashlib.sha256(wanted).digest())


def parse_networks(text: str) -> tuple[Network, ...]:
    """The networks of a comma-separated list. A single address stands for itself. Raises ``ValueError``."""
    return tuple(_plain(ip_network(part.strip(), strict=False)) for part in text.split(","))


def may_connect(host: str, networks: Sequence[Network]) -> bool:
    """Whether the address *host* lies in one of *networks*; an IPv4 address that comes over IPv6 counts as IPv4."""
    address: IPv4Address | IPv6Address = ip_address(host)
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    return any(address in network for network in networks)


def _plain(network: Network) -> Network:
    """*network*, with IPv4 networks written in IPv6 as what they are."""
    if isinstance(network, IPv6Network) and network.subnet_of(MAPPED):
        return IPv4Network((network.network_address.packed[-4:], network.prefixlen - 96))
    return network
