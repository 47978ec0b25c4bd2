"""The way to agents and targets: one connection for each request, counted and cut off where it says too much."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, Protocol

from OpenSSL import SSL
from twisted.internet.abstract import isIPAddress, isIPv6Address
from twisted.internet.endpoints import HostnameEndpoint, TCP4ClientEndpoint, TCP6ClientEndpoint, wrapClientTLS
from twisted.internet.interfaces import IStreamClientEndpoint
from twisted.web.client import URI, Agent
from twisted.web.iweb import IAgent

from ctfd_twisted.http.outgoing import Endpoints, Line, counted
from ctfd_twisted.koth.settings import HillSettings
from ctfd_twisted.koth.tls import Expecting, tls_context
from ctfd_twisted.koth.trouble import Unusable

#: More bytes of one answer, its headers and the wrapping of its chunks among them, are not taken from the network.
MOST_RAW: Final = 1_000_000
#: So many TLS contexts are kept; making one reads all the system's authorities.
CONTEXTS: Final = 1_000


class HillLine(Line):
    """The connection of a request to a hill: also whose certificate was shown."""

    def __init__(self) -> None:
        super().__init__()
        self.fingerprint: str | None = None

    def saw(self, fingerprint: str) -> None:
        """Note the certificate that the other side has shown."""
        self.fingerprint = fingerprint


class Reach(Protocol):
    """How requests get out; tests have one in memory."""

    def agent(self, settings: HillSettings, line: HillLine, *, pinned: bool) -> IAgent:
        """An agent for one request over *line*; *pinned*: to the hill's agent, with the hill's certificates."""


class Network:
    """The real network, over a reactor."""

    def __init__(self, reactor: Any) -> None:
        self._reactor = reactor
        self._context = lru_cache(CONTEXTS)(tls_context)

    def agent(self, settings: HillSettings, line: HillLine, *, pinned: bool) -> IAgent:
        """An agent over sockets. A request with certificates that can't be used fails with ``Unusable``."""
        trust = (settings.tls_certificate, settings.client_certificate, settings.client_key) if pinned else (None,) * 3

        def endpoint(uri: URI) -> IStreamClientEndpoint:
            host = uri.host.decode("ascii")
            way = _way(self._reactor, host, uri.port, settings.seconds)
            if uri.scheme == b"https":
                try:
                    context = self._context(*trust)
                except (ValueError, SSL.Error) as error:
                    raise Unusable(f"the hill's certificates or key can't be used: {error}") from error
                way = wrapClientTLS(Expecting(context, host, line.saw), way)
            return counted(way, MOST_RAW, line)

        # Without a pool the agent closes each connection after its answer: between two ticks there is nothing to keep.
        agent: IAgent = Agent.usingEndpointFactory(self._reactor, Endpoints(endpoint))
        return agent


def _way(reactor: Any, host: str, port: int, seconds: float) -> IStreamClientEndpoint:
    """The way to *host*; to an address without a resolver, whose thread would be most of the work."""
    way: IStreamClientEndpoint
    if isIPAddress(host):
        way = TCP4ClientEndpoint(reactor, host, port, timeout=seconds)
    elif isIPv6Address(host):
        way = TCP6ClientEndpoint(reactor, host, port, timeout=seconds)
    else:
        way = HostnameEndpoint(reactor, host, port, timeout=seconds)
    return way
