"""The listening socket, and the words for an address."""

import socket

from twisted.internet.interfaces import IAddress

from koth_agent.errors import StartError

BACKLOG = 128
EVERYWHERE = "0.0.0.0"  # noqa: S104 - an empty host means this to the Go agent too


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens at *host* and *port*. Raises ``StartError``.

    Done by hand, and before twistd becomes a daemon and takes standard output and error away, so that an address that
    is taken is an error of the command, and the address can be printed where somebody reads it. For IPv6 the socket
    takes IPv4 too, as the Go agent's does.
    """
    where = f"host {host!r}, port {port}"
    try:
        found = socket.getaddrinfo(host or EVERYWHERE, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise StartError(f"{where}: {getattr(error, 'strerror', None) or error}") from error
    # A name of both kinds, such as localhost, is taken for IPv4, as the Go agent takes it.
    family, kind, protocol, _, address = min(found, key=lambda entry: entry[0] != socket.AF_INET)
    listening = socket.socket(family, kind, protocol)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        listening.bind(address)
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        raise StartError(f"{where}: {error.strerror}") from error
    return listening


def host_and_port(host: str, port: int) -> str:
    """An address in one word, IPv6 in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def spell_address(address: IAddress) -> str:
    """What a listening port's address is called in the start line."""
    onion = getattr(address, "onion_uri", None)  # txtorcon's TorOnionAddress
    if onion is not None:
        return f"{onion}:{getattr(address, 'onion_port', '')}"
    host, port = getattr(address, "host", None), getattr(address, "port", None)
    if isinstance(host, str) and isinstance(port, int):
        return host_and_port(host, port)
    name = getattr(address, "name", None)  # a UNIX socket's path
    return name.decode("utf-8", "replace") if isinstance(name, bytes) else str(address)
