"""Listening sockets that one process opens and others accept on."""

from __future__ import annotations

import socket
from typing import Any

import msgspec
from twisted.internet.defer import Deferred, succeed
from twisted.internet.endpoints import serverFromString
from twisted.internet.interfaces import IListeningPort
from twisted.internet.protocol import Factory
from twisted.internet.unix import Port as UnixPort
from twisted.protocols.tls import TLSMemoryBIOFactory


class Door(msgspec.Struct, frozen=True):
    """What a worker must know of a socket: the endpoint's description, its number in the worker, and its family."""

    description: str
    number: int
    family: int


class CannotShare(Exception):
    """An endpoint that no two processes can listen on."""


async def open_door(reactor: Any, description: str) -> IListeningPort:
    """Listen where *description* says without accepting anybody: connections wait in the system's queue.

    Raises what the endpoint raises, and ``CannotShare`` where its connections come by another way than a socket.
    """
    if description.startswith(("onion:", "tor:")):
        raise CannotShare("an onion service is of one process: it needs --workers 1")
    opening: Deferred[IListeningPort] = serverFromString(reactor, description).listen(Factory())
    port: Any = await opening
    if not hasattr(port, "fileno") or not hasattr(port, "stopReading"):
        raise CannotShare("it is no socket that processes can share: it needs --workers 1")
    port.stopReading()
    return port  # type: ignore[no-any-return]


def family_of(port: Any) -> int:
    """The address family of what *port* listens on."""
    return int(getattr(port, "addressFamily", socket.AF_UNIX))


class SharedEndpoint:
    """Listens where *door* was opened, as its description says."""

    def __init__(self, reactor: Any, door: Door) -> None:
        self._reactor = reactor
        self._door = door

    def listen(self, factory: Any) -> Deferred[IListeningPort]:
        """Accept there from now on; raises what the endpoint raises."""
        shared = SharedSockets(self._reactor, self._door)
        if self._door.description.startswith("systemd:"):
            # Its endpoint looks for a socket that systemd gave to this process; it gave it to the first one.
            return succeed(shared.listenTCP(0, factory))
        listening: Deferred[IListeningPort] = serverFromString(shared, self._door.description).listen(factory)
        return listening


class SharedSockets:
    """A reactor whose ``listen`` methods accept on a socket that was opened elsewhere.

    Endpoints come to it with all that their descriptions say: certificates, for example, are read by the worker.
    """

    def __init__(self, reactor: Any, door: Door) -> None:
        self._reactor = reactor
        self._door = door

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reactor, name)

    def listenTCP(self, port: int, factory: Any, backlog: int = 50, interface: str = "") -> IListeningPort:  # noqa: N802
        """Accept there."""
        del port, backlog, interface
        return self._accept(factory)

    def listenUNIX(  # noqa: N802 - Twisted's name
        self,
        address: str,
        factory: Any,
        backlog: int = 50,
        mode: int = 0o666,
        wantPID: bool = False,  # noqa: FBT001, FBT002, N803 - Twisted's signature
    ) -> IListeningPort:
        """Accept there."""
        del address, backlog, mode, wantPID
        return self._accept(factory)

    def listenSSL(  # noqa: N802 - Twisted's name
        self,
        port: int,
        factory: Any,
        contextFactory: Any,  # noqa: N803 - Twisted's signature
        backlog: int = 50,
        interface: str = "",
    ) -> IListeningPort:
        """Accept there, and speak TLS."""
        del port, backlog, interface
        return self._accept(TLSMemoryBIOFactory(contextFactory, False, factory))

    def _accept(self, factory: Any) -> IListeningPort:
        if self._door.family == socket.AF_UNIX:
            port = _Borrowed.on(self._reactor, self._door.number, factory)
        else:
            port = self._reactor.adoptStreamPort(self._door.number, self._door.family, factory)
        _take_turns(port)
        return port


def _take_turns(port: Any) -> None:
    """Let *port* accept one connection at a time.

    A port accepts up to a hundred, so that the worker that wakes first would have all who come at once, and keep them.
    """
    accept = port.doRead

    def accept_one() -> None:
        port.numberAccepts = 1
        accept()

    port.doRead = accept_one


class _Borrowed(UnixPort):
    """Accepts on a Unix socket whose file is another's.

    What ``adoptStreamPort`` makes opens the file to everybody, whatever its permissions were, and when one of those who
    share it ends, removes the file and shuts the socket down for all. Ports in the abstract namespace, to which a null
    byte leads, have no file.
    """

    _shouldShutdown = False  # noqa: N815 - Twisted's name

    @classmethod
    def on(cls, reactor: Any, number: int, factory: Any) -> IListeningPort:
        """Accept on the socket *number*."""
        port: Any = cls._fromListeningDescriptor(reactor, number, factory)
        port._bindPath = b"\0" + port._bindPath  # noqa: SLF001
        port.startListening()
        return port  # type: ignore[no-any-return]

    def _logConnectionLostMsg(self) -> None:  # noqa: N802 - Twisted's name
        """Say nothing: it would name the file."""
