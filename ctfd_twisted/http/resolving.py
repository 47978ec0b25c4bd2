"""Names of hosts into addresses."""

from __future__ import annotations

from twisted.internet.address import IPv4Address, IPv6Address
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IAddress, IHostnameResolver, IHostResolution, IResolutionReceiver
from zope.interface import implementer


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
