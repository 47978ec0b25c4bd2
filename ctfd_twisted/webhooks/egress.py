"""Where webhooks may go: the form of a URL, and which addresses are never connected to. Pure.

A name is judged twice: when it is registered, and again at every connection by the addresses that it then has. The
connection is made to the very address that was judged.
"""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final
from urllib.parse import SplitResult, urlsplit

from msgspec import Struct

from ctfd_twisted.koth.urls import is_host

Network = IPv4Network | IPv6Network
Address = IPv4Address | IPv6Address

LONGEST_URL: Final = 2_000

_PRINTABLE: Final = re.compile(r"[!-~]+")
_BRACKETED: Final = re.compile(r"\[[^\]%]*\](:\d+)?")
#: Where the last four bytes are the IPv4 address that is meant: NAT64, known to all or a network's own, and SIIT.
_TRANSLATED: Final = tuple(map(ip_network, ("64:ff9b::/96", "64:ff9b:1::/48", "::ffff:0:0:0/96")))
_NOBODY: Final = ip_address("::").packed[:12]
_SELF: Final[dict[Address, Address]] = {
    ip_address("0.0.0.0"): ip_address("127.0.0.1"),  # noqa: S104 - judged, not bound
    ip_address("::"): ip_address("::1"),
}

#: Where clouds answer their machines' questions with credentials; those within link-local ranges are not repeated.
METADATA: Final = tuple(
    ip_address(text)
    for text in (
        "100.100.100.200",  # Alibaba Cloud
        "168.63.129.16",  # Azure
        "192.0.0.192",  # Oracle Cloud
        "fd00:ec2::254",  # Amazon EC2
        "fd20:ce::254",  # Google Cloud
        "fd00:42::42",  # Scaleway
    )
)
METADATA_NAMES: Final = frozenset(
    {
        "instance-data",
        "instance-data.ec2.internal",
        "metadata",
        "metadata.google.internal",
        "metadata.goog",
        "metadata.tencentyun.com",
    }
)


class Egress(Struct, frozen=True):
    """The settings ``egress_deny`` and ``egress_private`` at one moment.

    *unreadable* holds what of ``egress_deny`` is no network: then nothing is let through, because what the admin
    meant to forbid is not known.
    """

    deny: tuple[Network, ...] = ()
    private: bool = True
    unreadable: tuple[str, ...] = ()

    @classmethod
    def of(cls, deny: str, *, private: bool) -> Egress:
        """The rules of the setting's text: networks in CIDR notation or single addresses, between commas or blanks."""
        networks: list[Network] = []
        unreadable: list[str] = []
        for text in deny.replace(",", " ").split():
            try:
                networks.append(ip_network(text, strict=False))
            except ValueError:
                unreadable.append(text)
        return cls(tuple(networks), private, tuple(unreadable))

    def refusal(self, address: str) -> str | None:
        """Why nothing is sent to *address*, or None where it may be connected to."""
        if self.unreadable:
            return f"The setting egress_deny holds {self.unreadable[0]!r}, which is no network, so nothing is sent."
        try:
            # The zone of an address says by which way to reach it; to whom it belongs is the same with any.
            faces = _faces(ip_address(address.partition("%")[0]))
        except ValueError:
            return f"{address} is no address."
        for face in faces:
            reason = self._refusal(face)
            if reason is not None:
                return f"{address} {reason}."
        return None

    def _refusal(self, address: Address) -> str | None:
        if address.is_link_local:
            return "is a link-local address"
        if address in METADATA:
            return "is a cloud's metadata service"
        if any(address in network for network in self.deny):
            return "is in a range that the setting egress_deny forbids"
        if not self.private and (not address.is_global or address.is_multicast):
            return "is a private address, and the setting egress_private is off"
        return None


def checked_url(text: str, egress: Egress, *, onion: bool) -> str:
    """*text* without blanks around it, if it is the URL of a host that may be registered.

    *onion* says whether this server reaches Tor. Raises ``ValueError`` with the reason for the admin.
    """
    url = text.strip()
    if len(url) > LONGEST_URL:
        raise ValueError(f"Longer than maximum length {LONGEST_URL}.")
    if not _PRINTABLE.fullmatch(url) or "\\" in url:
        raise ValueError("Not a valid URL: only printable ASCII characters, without blanks and backslashes.")
    parts = _split(url)
    if parts.scheme not in {"http", "https"}:
        raise ValueError("Not a valid URL: it must begin with http:// or https://.")
    if "@" in parts.netloc:
        raise ValueError("A URL must not hold a user name or a password: requests are signed instead.")
    if "#" in url:
        raise ValueError("Not a valid URL: it must not have a fragment.")
    host = parts.hostname or ""
    bracketed = "[" in parts.netloc
    if not is_host(host, bracketed=bracketed) or (bracketed and not _BRACKETED.fullmatch(parts.netloc)):
        raise ValueError("Not a valid URL: its host must be a name, an IPv4 address or an [IPv6] address.")
    if is_onion(host) and not onion:
        raise ValueError("A .onion address can't be reached: this server has no connection to Tor.")
    refusal = name_refusal(host) or (egress.refusal(host) if is_address(host) else None)
    if refusal is not None:
        raise ValueError(refusal)
    return url


def is_onion(host: str) -> bool:
    """Whether *host* is the name of an onion service."""
    return host.lower().removesuffix(".").endswith(".onion")


def is_address(host: str) -> bool:
    """Whether *host* is written as an address, without brackets."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def name_refusal(host: str) -> str | None:
    """Why nothing is sent to a host of this name, whatever address it has; or None."""
    return f"{host} is a cloud's metadata service." if host.lower().removesuffix(".") in METADATA_NAMES else None


def with_token(url: str, token: str) -> str:
    """*url* with the validation's *token* added to its own query."""
    return f"{url}{'&' if '?' in url else '?'}token={token}"


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        port = 0
    if port == 0 or parts.netloc.endswith(":"):
        raise ValueError("Not a valid URL: its host or its port can't be read.")
    return parts


def _faces(address: Address) -> tuple[Address, ...]:
    """*address* and those that it stands for on its way: mapped, translated, tunnelled, or this very machine."""
    inner = _inner(address) if isinstance(address, IPv6Address) else []
    # A mapped address is its IPv4 address and nothing else; "not global" would refuse it as a form.
    mapped = isinstance(address, IPv6Address) and address.ipv4_mapped is not None
    faces: tuple[Address, ...] = tuple(inner) if mapped else (address, *inner)
    # Whoever connects to no address at all reaches themselves.
    return (*faces, *(_SELF[face] for face in faces if face in _SELF))


def _inner(address: IPv6Address) -> list[IPv4Address]:
    found = [other for other in (address.ipv4_mapped, address.sixtofour) if other is not None]
    if address.teredo is not None:
        found.append(address.teredo[1])
    translated = any(address in network for network in _TRANSLATED)
    if translated or (address.packed[:12] == _NOBODY and int(address) > 1):
        found.append(IPv4Address(address.packed[12:]))
    return found
