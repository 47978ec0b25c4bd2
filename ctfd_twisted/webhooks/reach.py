"""The network as webhooks use it: a connection is made to an address that was judged after the name was resolved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from twisted.internet.address import IPv4Address, IPv6Address
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import HostnameEndpoint, wrapClientTLS
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
from twisted.web.client import URI, Agent, BrowserLikePolicyForHTTPS, HostnameCachingHTTPSPolicy, HTTPConnectionPool
from twisted.web.iweb import IAgent, IAgentEndpointFactory, IPolicyForHTTPS
from zope.interface import implementer

from ctfd_twisted.webhooks.egress import Egress, is_onion, name_refusal
from ctfd_twisted.webhooks.rules import PER_ENDPOINT
from ctfd_twisted.webhooks.trace import EgressRefused, Trace

#: Seconds that an idle connection is kept: long enough for the next event of a burst, and shorter than what receivers
#: commonly keep one, so that it seldom goes away under a request.
IDLE: Final = 2

#: ``onion(host, port)`` connects through Tor.
Onion = Callable[[str, int], IStreamClientEndpoint]


class Reach(Protocol):
    """How requests get out; tests have one in memory."""

    onion: bool

    def agent(self, egress: Egress, trace: Trace, *, alone: bool = False) -> IAgent:
        """An agent for one request; *alone*: over a connection of its own, so that every step is seen."""

    async def addresses(self, host: str) -> list[str]:
        """The addresses that *host* has at this moment; none where its name can't be resolved."""

    async def close(self) -> None:
        """End idle connections."""


class Network:
    """The real network, over a reactor.

    :param onion: reaches onion services; None where there is no Tor.
    :param tls: verifies receivers' certificates; by default against the system's authorities and the host's name.
    """

    def __init__(self, reactor: Any, onion: Onion | None = None, tls: IPolicyForHTTPS | None = None) -> None:
        self._reactor = reactor
        self._onion = onion
        # To read the system's authorities takes a hundred times as long as a handshake, so contexts are kept per host.
        self._tls = HostnameCachingHTTPSPolicy(tls or BrowserLikePolicyForHTTPS())
        self._pool = self._new_pool(IDLE)
        self._egress: Egress | None = None
        self.onion = onion is not None

    def agent(self, egress: Egress, trace: Trace, *, alone: bool = False) -> IAgent:
        """An agent for one request under the rules of *egress*, that notes its steps in *trace*."""
        if egress != self._egress:
            # What is open was let through by other rules.
            self._pool.closeCachedConnections()
            self._egress = egress
        endpoints = _Endpoints(self._reactor, egress, trace, self._onion, self._tls)
        pool = self._new_pool(0) if alone else self._pool
        agent: IAgent = Agent.usingEndpointFactory(self._reactor, endpoints, pool)
        return agent

    async def addresses(self, host: str) -> list[str]:
        """The addresses of *host*, asked of the reactor's resolver."""
        return [address.host for address in await resolved(self._reactor.nameResolver, host, 0)]

    async def close(self) -> None:
        """End idle connections."""
        await self._pool.closeCachedConnections()

    def _new_pool(self, idle: int) -> HTTPConnectionPool:
        pool = HTTPConnectionPool(self._reactor)
        pool.maxPersistentPerHost = PER_ENDPOINT
        pool.cachedConnectionTimeout = idle
        # Decided in client.py, which knows that a repeated event does no harm.
        pool.retryAutomatically = False
        return pool


@implementer(IAgentEndpointFactory)
class _Endpoints:
    """The endpoint of one request."""

    def __init__(self, reactor: Any, egress: Egress, trace: Trace, onion: Onion | None, tls: IPolicyForHTTPS) -> None:
        self._reactor = reactor
        self._egress = egress
        self._trace = trace
        self._onion = onion
        self._tls = tls

    def endpointForURI(self, uri: URI) -> IStreamClientEndpoint:  # noqa: N802 - Twisted's name
        """The way to the host of *uri*, with TLS for ``https``."""
        host = uri.host.decode("ascii")
        # Until the endpoint is asked to connect, the pool may have a connection that is open.
        self._trace.reused = True
        endpoint: IStreamClientEndpoint = _Judged(self._reactor, host, uri.port, self._egress, self._trace, self._onion)
        if uri.scheme == b"https":
            endpoint = wrapClientTLS(self._tls.creatorForNetloc(uri.host, uri.port), endpoint)
        return endpoint


@implementer(IStreamClientEndpoint)
class _Judged:
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


async def resolved(resolver: IHostnameResolver, host: str, port: int) -> list[IPv4Address | IPv6Address]:
    """The addresses that *resolver* finds for *host*."""
    found: list[IPv4Address | IPv6Address] = []
    complete: Deferred[None] = Deferred()

    @implementer(IResolutionReceiver)
    class Receiver:
        def resolutionBegan(self, resolutionInProgress: IHostResolution) -> None:  # noqa: N802, N803
            """Nothing to do: a resolution can't be cancelled."""

        def addressResolved(self, address: IAddress) -> None:  # noqa: N802
            """Keep *address*."""
            if isinstance(address, IPv4Address | IPv6Address):
                found.append(address)

        def resolutionComplete(self) -> None:  # noqa: N802
            """Hand over what was found."""
            complete.callback(None)

    resolver.resolveHostName(Receiver(), host, port)
    await complete
    return found


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
