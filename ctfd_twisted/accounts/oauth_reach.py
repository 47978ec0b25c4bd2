"""The way to the provider of sign-ins: a connection for each request, that is cut when the answer is read."""

from __future__ import annotations

from typing import Any, Final, Protocol

from twisted.internet.endpoints import HostnameEndpoint, wrapClientTLS
from twisted.internet.interfaces import IStreamClientEndpoint
from twisted.web.client import URI, Agent, BrowserLikePolicyForHTTPS, HostnameCachingHTTPSPolicy
from twisted.web.iweb import IAgent

from ctfd_twisted.http.outgoing import Endpoints, Line, counted

#: More bytes of one answer, its headers among them, are not taken from the network.
MOST_RAW: Final = 256 * 1024


class Reach(Protocol):
    """How requests get out; tests have one in memory."""

    def agent(self, line: Line, seconds: float) -> IAgent:
        """An agent for one request over *line*, to which a connection is made within so many *seconds*."""


class Network:
    """The real network, over a reactor; certificates are verified against the system's authorities and the name."""

    def __init__(self, reactor: Any) -> None:
        self._reactor = reactor
        # To read the system's authorities takes a hundred times as long as a handshake, so contexts are kept per host.
        self._tls = HostnameCachingHTTPSPolicy(BrowserLikePolicyForHTTPS())

    def agent(self, line: Line, seconds: float) -> IAgent:
        """An agent over sockets; without a pool, so that nothing stays open between two people."""

        def endpoint(uri: URI) -> IStreamClientEndpoint:
            host = uri.host.decode("ascii").strip("[]")
            way: IStreamClientEndpoint = HostnameEndpoint(self._reactor, host, uri.port, timeout=seconds)
            if uri.scheme == b"https":
                way = wrapClientTLS(self._tls.creatorForNetloc(host.encode(), uri.port), way)
            return counted(way, MOST_RAW, line)

        agent: IAgent = Agent.usingEndpointFactory(self._reactor, Endpoints(endpoint))
        return agent
