"""The network as webhooks use it: a connection is made to an address that was judged after the name was resolved."""

from __future__ import annotations

from typing import Any, Final, Protocol

from twisted.internet.endpoints import wrapClientTLS
from twisted.internet.interfaces import IStreamClientEndpoint
from twisted.web.client import URI, Agent, BrowserLikePolicyForHTTPS, HostnameCachingHTTPSPolicy, HTTPConnectionPool
from twisted.web.iweb import IAgent, IAgentEndpointFactory, IPolicyForHTTPS
from zope.interface import implementer

from ctfd_twisted.http.resolving import resolved
from ctfd_twisted.webhooks.connections import Judged, Onion, bounded
from ctfd_twisted.webhooks.egress import Egress
from ctfd_twisted.webhooks.rules import PER_ENDPOINT
from ctfd_twisted.webhooks.trace import Trace

#: Seconds that an idle connection is kept: long enough for the next event of a burst, and shorter than what receivers
#: commonly keep one, so that it seldom goes away under a request.
IDLE: Final = 2


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

    Certificates are verified against the system's authorities and the host's name.

    :param onion: reaches onion services; None where there is no Tor.
    """

    def __init__(self, reactor: Any, onion: Onion | None = None) -> None:
        self._reactor = reactor
        self._onion = onion
        # To read the system's authorities takes a hundred times as long as a handshake, so contexts are kept per host.
        self._tls = HostnameCachingHTTPSPolicy(BrowserLikePolicyForHTTPS())
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
        endpoint: IStreamClientEndpoint = Judged(self._reactor, host, uri.port, self._egress, self._trace, self._onion)
        if uri.scheme == b"https":
            endpoint = wrapClientTLS(self._tls.creatorForNetloc(uri.host, uri.port), endpoint)
        return bounded(endpoint)
