"""What stands between treq and the way to an agent, so that treq does nothing that a hostile agent could use."""

from __future__ import annotations

from typing import Final

from twisted.internet.defer import Deferred
from twisted.web.http_headers import Headers
from twisted.web.iweb import IAgent, IBodyProducer, IResponse
from zope.interface import implementer

from ctfd_twisted.koth.trouble import Nested

#: The URL that treq is given; the guard knows the right one.
ANY_URL: Final = "http://hill.invalid/"


@implementer(IAgent)
class Guard:
    """Asks *agent* for *url*, whatever URL it is asked for, and takes from the answers what treq should not see.

    treq writes URLs anew, and can't write those of IPv6 addresses and of names with underscores. It would keep cookies,
    and to read a megabyte of them takes a second. And it undoes one compression within another, of which a kilobyte can
    hold gigabytes; one alone makes at most about a thousand bytes of one.
    """

    def __init__(self, agent: IAgent, url: str) -> None:
        self._agent = agent
        self._url = url.encode()

    def request(
        self,
        method: bytes,
        uri: bytes,  # noqa: ARG002 - the interface's
        headers: Headers | None = None,
        bodyProducer: IBodyProducer | None = None,  # noqa: N803 - Twisted's name
    ) -> Deferred[IResponse]:
        """Ask; fails with ``Nested`` where the answer is compressed more than once."""
        asking: Deferred[IResponse] = self._agent.request(method, self._url, headers, bodyProducer)
        return asking.addCallback(_checked)


def _checked(response: IResponse) -> IResponse:
    response.headers.removeHeader(b"Set-Cookie")
    if b"," in b",".join(response.headers.getRawHeaders(b"Content-Encoding", [])):
        raise Nested
    return response
