"""One mail over one SMTP connection."""

from __future__ import annotations

from typing import Any, Final

from twisted.internet import error as failed
from twisted.internet.defer import Deferred
from twisted.internet.defer import TimeoutError as TookTooLong
from twisted.internet.endpoints import HostnameEndpoint, connectProtocol, wrapClientTLS
from twisted.internet.interfaces import IStreamClientEndpoint
from twisted.internet.ssl import optionsForClientTLS, platformTrust
from twisted.mail.smtp import (
    AUTHDeclinedError,
    AuthenticationError,
    AUTHRequiredError,
    SMTPClientError,
    SMTPTimeoutError,
    TLSRequiredError,
)

from ctfd_twisted.http.resolving import resolved
from ctfd_twisted.mail.conversation import Envelope, OneMail, RefusedMailError
from ctfd_twisted.mail.rules import Smtp
from ctfd_twisted.mail.sender import NotSentError
from ctfd_twisted.mail.trace import Trace
from ctfd_twisted.mail.watched import WatchedMail

TIMED_OUT: Final = "SMTP server connection timed out"
#: SMTP's replies from here on mean that the same mail will not be taken later either.
_PERMANENT: Final = 500


async def send_by_smtp(
    reactor: Any,
    route: Smtp,
    envelope: Envelope,
    *,
    patience: float,
    trust_root: Any = None,
    trace: Trace | None = None,
) -> None:
    """Send *envelope* to the server of *route*; raises ``NotSentError``.

    *patience* is in seconds, for the connection and then for each reply. Certificates are verified against the
    platform's roots, or *trust_root*. Where somebody wants to see each step, it is told to *trace*.
    """
    try:
        if trace is not None:
            await _look_up(reactor, route, patience, trace)
        context: Any = None
        if route.ssl or route.tls:
            context = optionsForClientTLS(route.host, trustRoot=trust_root or platformTrust())
        endpoint: IStreamClientEndpoint = HostnameEndpoint(reactor, route.host, route.port, timeout=patience)
        if route.ssl:
            endpoint = wrapClientTLS(context, endpoint)
        later = context if route.tls and not route.ssl else None
        mail = (
            OneMail(route, envelope, patience, later)
            if trace is None
            else WatchedMail(route, envelope, patience, later, trace)
        )
        await connectProtocol(endpoint, mail)
        await mail.sent
    except Exception as error:
        raise _told(route, error) from error


async def _look_up(reactor: Any, route: Smtp, patience: float, trace: Trace) -> None:
    """Show the addresses of the host before one of them is connected to."""
    trace.begin("resolve")
    looking = Deferred.fromCoroutine(resolved(reactor.nameResolver, route.host, route.port))
    addresses = await looking.addTimeout(patience, reactor)
    if not addresses:
        raise failed.DNSLookupError
    trace.took(", ".join(address.host for address in addresses))
    trace.begin("connect")


def _told(route: Smtp, error: BaseException) -> NotSentError:
    """Return *error* in words for the person who set the mail server up."""
    match error:
        case SMTPTimeoutError() | failed.TimeoutError() | TookTooLong():
            return NotSentError(TIMED_OUT)
        case failed.ConnectionRefusedError():
            return NotSentError(f"SMTP server {route.host}:{route.port} refused the connection")
        case failed.DNSLookupError():
            return NotSentError(f"SMTP server {route.host} is not known")
        case TLSRequiredError():
            return NotSentError("SMTP server does not offer STARTTLS")
        case AuthenticationError() | AUTHDeclinedError() | AUTHRequiredError():
            return NotSentError(f"SMTP server did not accept the user name and password: {_reply(error)}")
        case SMTPClientError():
            for_good = isinstance(error, RefusedMailError) and error.code >= _PERMANENT
            return NotSentError(f"SMTP server refused: {_reply(error)}", for_good=for_good)
    return NotSentError(f"SMTP server connection failed: {error}")


def _reply(error: SMTPClientError) -> str:
    said: bytes | str = error.resp
    text = said.decode("utf-8", "replace") if isinstance(said, bytes) else said
    return f"{error.code} {text}" if error.code > 0 else text
