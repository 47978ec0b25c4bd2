"""From text to a setting's value; each function raises ``ValueError`` with what is expected instead."""

import re
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError
from twisted.internet.abstract import isIPAddress, isIPv6Address
from twisted.internet.endpoints import serverFromString

from ctfd_twisted.settings import ROLES

Network = IPv4Network | IPv6Network

#: What CTFd trusts behind ``REVERSE_PROXY``. It looks for ``fc00:`` as text, and means the range of private addresses.
PRIVATE_NETWORKS: Final[tuple[Network, ...]] = tuple(
    ip_network(text)
    for text in ("127.0.0.1/32", "::1/128", "fc00::/7", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")
)
#: bcrypt itself goes on to 31, but each step doubles the time: at 16 a login takes some seconds.
FEWEST_ROUNDS, MOST_ROUNDS = 4, 16
MOST_WORKERS: Final = 64

MEBIBYTE: Final = 1 << 20
_SIZE_DIGITS = 7
_HOST = re.compile(r"\.?[a-z0-9_-]+(\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\]")
_HEADER = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,63}")
_ROOT = re.compile(r"(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*")
_POSTGRESQL = frozenset({"postgres", "postgresql", "postgresql+psycopg", "postgresql+psycopg2"})
_NO = frozenset({"false", "no", "off", "0"})
_YES = frozenset({"true", "yes", "on", "1"})


def boolean(text: str) -> bool:
    """A boolean in any of the spellings that CTFd takes from its environment."""
    if text.lower() not in _YES | _NO:
        raise ValueError("true or false")
    return text.lower() in _YES


def path(text: str) -> Path:
    """An absolute path; a relative one begins in the working directory, ``~`` at home."""
    return Path(text).expanduser().absolute()


def mebibytes(text: str) -> int:
    """A size of at least one mebibyte, in bytes."""
    if not (text.isascii() and text.isdigit() and len(text) <= _SIZE_DIGITS and int(text)):
        raise ValueError("a whole number of mebibytes from 1 to 9999999")
    return int(text) * MEBIBYTE


def port(text: str) -> int:
    """A TCP port; 0 lets the system choose one."""
    if not (text.isascii() and text.isdigit() and int(text) < 1 << 16):
        raise ValueError("a port from 0 to 65535")
    return int(text)


def endpoint(text: str) -> str:
    """A description for ``serverFromString``, tried without opening anything.

    A listener of a plug-in, such as ``onion:``, is only known by its name here: to make one may already start a Tor.
    """
    kind, *parts = re.split(r"(?<!\\):", text)
    if kind in {"tcp", "ssl"}:
        named = dict(part.split("=", 1) for part in parts if "=" in part)
        port(named.get("port") or next((part for part in parts if "=" not in part), ""))
        interface = named.get("interface", "").replace("\\:", ":")
        if interface and not (isIPAddress(interface) or isIPv6Address(interface)):
            raise ValueError(f"an IP address as the interface, not {interface!r}")
    if kind in {"tcp", "ssl", "unix", "systemd"} and any(parts):
        _try_endpoint(text)
    elif kind != "onion" or not any(parts):
        raise ValueError(
            "tcp:, ssl:, unix:, systemd: or onion: and their arguments, such as tcp:8000:interface=127.0.0.1"
        )
    return text


def _try_endpoint(text: str) -> None:
    try:
        # No reactor is needed to make one, only to listen.
        serverFromString(None, text)
    except (IndexError, KeyError):
        # systemd has passed on no such socket to this process; who administers from a shell needs none.
        return
    except OSError as error:
        raise ValueError(f"readable files ({error.filename or 'certificate'}: {error.strerror})") from None
    except Exception as error:  # noqa: BLE001 - parsers of endpoints raise what they like
        reason = " ".join(str(error).split())
        raise ValueError(f"what serverFromString() of Twisted understands ({reason})") from None


def database_url(text: str) -> str:
    """A SQLAlchemy URL with the driver that is used here; an SQLite file's path is made absolute."""
    expected = "sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME"
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise ValueError(expected) from None
    if url.drivername in _POSTGRESQL:
        if not url.database:
            raise ValueError(f"{expected}; the name of the database is missing")
        port(str(url.port or 0))
        return url.set(drivername="postgresql+psycopg").render_as_string(hide_password=False)
    if url.get_backend_name() != "sqlite":
        raise ValueError(expected)
    if url.drivername not in {"sqlite", "sqlite+pysqlite"} or not url.database or url.database == ":memory:":
        raise ValueError(f"{expected}; an SQLite database needs a file")
    return url.set(drivername="sqlite", database=str(path(url.database))).render_as_string(hide_password=False)


def masked_url(text: str) -> str:
    """The same URL, well-formed or not, without its password."""
    return re.sub(r"(://[^:@/]*:).*@", r"\1***@", text)


def origin(text: str) -> str:
    """The scheme and host of a public URL, in lower case; a path is only asked for by ``application-root``."""
    expected = "a URL of scheme http or https and a host, such as https://ctf.example.org"
    try:
        parts = urlsplit(text)
        host, number = parts.hostname, parts.port
    except ValueError:
        raise ValueError(expected) from None
    if (
        parts.scheme not in {"http", "https"}
        or not host
        or "@" in parts.netloc
        or not _HOST.fullmatch(_bracketed(host))
    ):
        raise ValueError(expected)
    if parts.path not in {"", "/"} or parts.query or parts.fragment:
        raise ValueError(f"{expected}; without a query, and a path is for application-root")
    return f"{parts.scheme}://{_bracketed(host)}" + (f":{number}" if number is not None else "")


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def network(text: str) -> Network:
    """One address or one CIDR range; bits beyond its prefix are an error, as they are most likely a mistake."""
    try:
        return ip_network(text)
    except ValueError:
        raise ValueError("addresses or CIDR ranges, such as 10.0.0.0/8, separated by commas") from None


def reverse_proxy(text: str) -> tuple[Network, ...]:
    """CTFd's ``REVERSE_PROXY``: true, or five counts of hops, of which the first is for ``X-Forwarded-For``."""
    counts = text.split(",")
    if len(counts) > 1:
        if len(counts) != len(("for", "proto", "host", "port", "prefix")) or not all(
            c.strip().isdigit() for c in counts
        ):
            raise ValueError("true, false or five numbers separated by commas")
        return PRIVATE_NETWORKS if int(counts[0]) else ()
    return PRIVATE_NETWORKS if boolean(text) else ()


def role(text: str) -> str:
    """One of :data:`ROLES`."""
    if text not in ROLES:
        raise ValueError(f"one or more of {', '.join(ROLES)}, separated by commas")
    return text


def payload_status(text: str) -> int:
    """What malformed payloads are answered: 500, as CTFd does, or 400."""
    if text not in {"400", "500"}:
        raise ValueError("500 or 400")
    return int(text)


def header_prefix(text: str) -> str:
    """The beginning of a header's name."""
    if not _HEADER.fullmatch(text) or text.endswith("-"):
        raise ValueError("letters, digits and dashes, such as Service-Webhook")
    return text


def root_path(text: str) -> str:
    """The path under which everything is mounted: empty for ``/``, else without a slash at its end."""
    stripped = text.rstrip("/")
    if not text.startswith("/") or not _ROOT.fullmatch(stripped):
        raise ValueError("a path that begins with a slash, such as /ctf")
    return stripped


def host_name(text: str) -> str:
    """A host name in lower case without a port; a leading dot means all names below it."""
    if not _HOST.fullmatch(text.lower()):
        raise ValueError("host names separated by commas, such as ctf.example.org or .example.org for all below it")
    return text.lower()


def workers(text: str) -> int:
    """How many processes answer HTTP."""
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= MOST_WORKERS):
        raise ValueError(f"a whole number from 1 to {MOST_WORKERS}")
    return int(text)


def password_rounds(text: str) -> int:
    """The cost of new bcrypt hashes: each step doubles the time of a login."""
    if not (text.isascii() and text.isdigit() and FEWEST_ROUNDS <= int(text) <= MOST_ROUNDS):
        raise ValueError(f"a whole number from {FEWEST_ROUNDS} to {MOST_ROUNDS}")
    return int(text)
