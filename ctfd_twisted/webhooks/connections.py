"""Connections to receivers: to addresses that were judged after the name was resolved, and bounded in bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from twisted.internet.address import IPv4Address, IPv6Address
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import HostnameEndpoint
from twisted.internet.error import DNSLookupError
from twisted.internet.interfaces import (
    IAddress,
    IHostnameResolver,
    IHostResolution,
    IProtocol,
    IProtocolFactory,
    IReactorPluggableNameResolver,
    IResolutionReceiver,
    IStreamClientEndpoint,
)
from twisted.protocols.policies import ProtocolWrapper
from zope.interface import implementer

from ctfd_twisted.http.outgoing import Wrapping
from ctfd_twisted.http.resolving import resolved
from ctfd_twisted.webhooks.egress import Egress, is_onion, name_refusal
from ctfd_twisted.webhooks.trace import EgressRefused, Trace

#: Bytes that may come in after a request was written: headers, and what arrives before the answer is cut off.
MOST: Final = 262_144

#: ``onion(host, port)`` connects through Tor.
Onion = Callable[[str, int], IStreamClientEndpoint]


def bounded(way: IStreamClientEndpoint) -> IStreamClientEndpoint:
    """*way*; whoever answers more than :data:`MOST` bytes to one request is hung up on."""
    return Wrapping(way, _Counted)


class _Counted(ProtocolWrapper):
    """Counts what comes in since the last write."""

    _left = MOST

    def write(self, data: bytes) -> None:
        """Write *data*; what comes from now on is another answer."""
        self._left = MOST
        super().write(data)

    def writeSequence(self, data: Iterable[bytes]) -> None:
        """Write *data* likewise."""
        self._left = MOST
        super().writeSequence(data)

    def dataReceived(self, data: bytes) -> None:
        """Hand *data* on while it is not too much."""
        self._left -= len(data)
        if self._left >= 0:
            super().dataReceived(data)
        elif self.transport is not None:
            connection: Any = self.transport
            connection.abortConnection()


@implementer(IStreamClientEndpoint)
class Judged:
    """Connects to a host if, and only if, all its addresses may be connected to."""

    def __init__(self, reactor: Any, host: str, port: int, egress: Egress, trace: Trace, onion: Onion | None) -> None:
        self._reactor = reactor
        self._host = host
        self._port = port
        self._egress = egress
        self._trace = trace
        self._onion = onion

    def connect(self, protocolFactory: IProtocolFactory) -> Deferred[IProtocol]:  # noqa: N803 - Twisted's name
        """Resolve, judge, connect; fails with ``EgressRefused`` where the host may not be reached."""
        self._trace.reused = False
        return Deferred.fromCoroutine(self._connect(protocolFactory))

    async def _connect(self, factory: IProtocolFactory) -> IProtocol:
        protocol = await (await self._way()).connect(factory)
        self._trace.took("connect", "connected")
        return protocol

    async def _way(self) -> IStreamClientEndpoint:
        refusal = name_refusal(self._host)
        if refusal is not None:
            raise EgressRefused(refusal)
        if is_onion(self._host):
            if self._onion is None:
                raise EgressRefused("A .onion address can't be reached: this server has no connection to Tor.")
            self._trace.took("resolve", "through Tor")
            return self._onion(self._host, self._port)
        addresses = await resolved(self._reactor.nameResolver, self._host, self._port)
        if not addresses:
            raise DNSLookupError(self._host)
        for address in addresses:
            refusal = self._egress.refusal(address.host)
            if refusal is not None:
                # One bad address spoils the name: which one would be taken is up to whoever runs its zone.
                raise EgressRefused(refusal)
        self._trace.took("resolve", ", ".join(address.host for address in addresses))
        return HostnameEndpoint(_WithAnswer(self._reactor, addresses), self._host, self._port)


@implementer(IReactorPluggableNameResolver)
class _WithAnswer:
    """A reactor that has resolved a name already, so that it is not asked again and answered something else."""

    def __init__(self, reactor: Any, addresses: Sequence[IPv4Address | IPv6Address]) -> None:
        self.nameResolver = _Answer(addresses)
        self.connectTCP = reactor.connectTCP
        self.callLater = reactor.callLater
        self.seconds = reactor.seconds

    def installNameResolver(self, resolver: IHostnameResolver) -> IHostnameResolver:  # noqa: N802 - Twisted's name
        """Refuse: the answer is the point."""
        raise NotImplementedError


@implementer(IHostnameResolver)
class _Answer:
    """Answers every question with the same addresses."""

    def __init__(self, addresses: Sequence[IPv4Address | IPv6Address]) -> None:
        self._addresses = addresses

    def resolveHostName(  # noqa: N802 - Twisted's name
        self,
        resolutionReceiver: IResolutionReceiver,  # noqa: N803
        hostName: str,  # noqa: N803
        portNumber: int = 0,  # noqa: ARG002, N803
        addressTypes: Sequence[type[IAddress]] | None = None,  # noqa: ARG002, N803
        transportSemantics: str = "TCP",  # noqa: ARG002, N803
    ) -> IHostResolution:
        """Answer at once."""
        resolution = _Resolution(hostName)
        resolutionReceiver.resolutionBegan(resolution)
        for address in self._addresses:
            resolutionReceiver.addressResolved(address)
        resolutionReceiver.resolutionComplete()
        return resolution


@implementer(IHostResolution)
class _Resolution:
    """A resolution that is over."""

    def __init__(self, name: str) -> None:
        self.name = name

    def cancel(self) -> None:
        """Nothing to cancel."""
