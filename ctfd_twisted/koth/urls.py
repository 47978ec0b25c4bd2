"""The URLs of agents and targets. Pure."""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import Final
from urllib.parse import SplitResult, urlsplit, urlunsplit

LONGEST: Final = 2_000

_LABEL: Final = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)", re.IGNORECASE)
_PRINTABLE: Final = re.compile(r"[!-~]+")
_LONGEST_NAME: Final = 253


def checked_url(text: str) -> str:
    """*text* without blanks around it, if it is the URL of a host that can be asked.

    Raises ``ValueError`` with the reason for the administrator who gave it.
    """
    url = text.strip()
    if len(url) > LONGEST:
        raise ValueError(f"Longer than maximum length {LONGEST}.")
    if not _PRINTABLE.fullmatch(url) or "\\" in url:
        raise ValueError("Not a valid URL: only printable ASCII characters, without blanks and backslashes.")
    parts = _split(url)
    if parts.scheme not in {"http", "https"}:
        raise ValueError("Not a valid URL: it must begin with http:// or https://.")
    if parts.username is not None or parts.password is not None:
        raise ValueError("A URL must not hold a user name or a password; the key goes into api_key.")
    if parts.fragment:
        raise ValueError("Not a valid URL: it must not have a fragment.")
    host = parts.hostname or ""
    if not is_host(host, bracketed="[" in parts.netloc):
        raise ValueError("Not a valid URL: its host must be a name, an IPv4 address or an [IPv6] address.")
    if host.endswith(".onion"):
        raise ValueError("A .onion address can't be polled: this server has no connection to Tor.")
    return url


def is_host(host: str, *, bracketed: bool) -> bool:
    """Whether *host* is an IPv6 address (*bracketed*), an IPv4 address or a name that a resolver may be asked for."""
    if bracketed:
        return _version(host) == 6  # noqa: PLR2004 - IPv6
    labels = host.removesuffix(".").split(".")
    if labels[-1].isdigit():  # an address, or a number that some resolver would take for one
        return _version(host) == 4  # noqa: PLR2004 - IPv4
    return len(host) <= _LONGEST_NAME and all(_LABEL.fullmatch(label) for label in labels)


def beside(url: str, name: str) -> str:
    """The URL of *name* in the same folder: beside ``http://h/a/status?x=1`` lies ``http://h/a/healthcheck``."""
    parts = urlsplit(url)
    folder = parts.path.rpartition("/")[0]
    return urlunsplit((parts.scheme, parts.netloc, f"{folder}/{name}", "", ""))


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ValueError("Not a valid URL: its port must be from 1 to 65535.") from None
    if port == 0:
        raise ValueError("Not a valid URL: its port must be from 1 to 65535.")
    return parts


def _version(host: str) -> int | None:
    try:
        return ip_address(host).version
    except ValueError:
        return None
