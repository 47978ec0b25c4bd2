"""One mail over one SMTP connection."""

from __future__ import annotations

from io import BytesIO
from typing import Any, BinaryIO, Final, cast

import msgspec
from twisted.internet import error as failed
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import HostnameEndpoint, connectProtocol, wrapClientTLS
from twisted.internet.interfaces import IStreamClientEndpoint, ITCPTransport
from twisted.internet.protocol import connectionDone
from twisted.internet.ssl import optionsForClientTLS, platformTrust
from twisted.mail.smtp import (
    DNSNAME,
    SUCCESS,
    AUTHDeclinedError,
    AuthenticationError,
    AUTHRequiredError,
    ESMTPSender,
    SMTPClientError,
    SMTPTimeoutError,
    TLSRequiredError,
)
from twisted.python.failure import Failure

from ctfd_twisted.mail.rules import Smtp
from ctfd_twisted.mail.sender import NotSentError

TIMED_OUT: Final = "SMTP server connection timed out"
#: SMTP's replies from here on mean that the same mail will not be taken later either.
_PERMANENT: Final = 500


class Envelope(msgspec.Struct, frozen=True):
    """From whom, to whom, and the message, whose lines end in line feeds."""

    sender: str
    recipient: str
    message: bytes


class _RefusedMailError(SMTPClientError):
    """The server would not take this mail for this recipient."""


class _OneMail(ESMTPSender):
    """Sends one envelope; ``sent`` fires when it was taken, or fails with what the server or the network said."""

    debug = False  # its transcript would hold the password

    def __init__(self, route: Smtp, envelope: Envelope, patience: float, context: Any) -> None:
        username = (route.username or "").encode()
        super().__init__(username, (route.password or "").encode() or None, context, DNSNAME)
        self.heloFallback = True
        self.requireAuthentication = bool(username)
        self.requireTransportSecurity = route.tls
        self.timeout: Any = patience
        self.sent: Deferred[None] = Deferred(lambda _: self._abort())
        self._envelope = envelope
        self._begun = False

    def getMailFrom(self) -> str | None:  # noqa: N802 - Twisted's name
        if self._begun:
            return None
        self._begun = True
        return self._envelope.sender

    def getMailTo(self) -> list[bytes]:  # noqa: N802 - Twisted's name
        return [self._envelope.recipient.encode("ascii")]

    def getMailData(self) -> BinaryIO:  # noqa: N802 - Twisted's name
        return BytesIO(self._envelope.message)

    def sendError(self, exc: Exception) -> None:  # noqa: N802 - Twisted's name
        self._abort()
        self._settle(exc)

    def sentMail(self, code: int, resp: bytes | str, *rest: Any) -> None:  # noqa: N802 - Twisted's name
        if code in SUCCESS:
            self._settle(None)
            return
        # Without recipients asked, it was the sender that the server refused: that is a matter of settings.
        _, recipients, _ = rest
        refused = next(((number, text) for _, number, text in recipients if number not in SUCCESS), (code, resp))
        self._settle(_RefusedMailError(*refused) if recipients else SMTPClientError(*refused))

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        super().connectionLost(reason)
        self._settle(reason.value)

    def _abort(self) -> None:
        if self.transport is not None:
            cast("ITCPTransport", self.transport).abortConnection()

    def _settle(self, error: BaseException | None) -> None:
        if self.sent.called:
            return
        if error is None:
            self.sent.callback(None)
        else:
            self.sent.errback(error)


async def send_by_smtp(
    reactor: Any, route: Smtp, envelope: Envelope, *, patience: float, trust_root: Any = None
) -> None:
    """Send *envelope* to the server of *route*; raises ``NotSentError``.

    *patience* is in seconds, for the connection and then for each reply. Certificates are verified against the
    platform's roots, or *trust_root*.
    """
    try:
        context: Any = None
        if route.ssl or route.tls:
            context = optionsForClientTLS(route.host, trustRoot=trust_root or platformTrust())
        endpoint: IStreamClientEndpoint = HostnameEndpoint(reactor, route.host, route.port, timeout=patience)
        if route.ssl:
            endpoint = wrapClientTLS(context, endpoint)
        mail = _OneMail(route, envelope, patience, context if route.tls and not route.ssl else None)
        await connectProtocol(endpoint, mail)
        await mail.sent
    except Exception as error:
        raise _told(route, error) from error


def _told(route: Smtp, error: BaseException) -> NotSentError:
    """Return *error* in words for the person who set the mail server up."""
    match error:
        case SMTPTimeoutError() | failed.TimeoutError():
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
            for_good = isinstance(error, _RefusedMailError) and error.code >= _PERMANENT
            return NotSentError(f"SMTP server refused: {_reply(error)}", for_good=for_good)
    return NotSentError(f"SMTP server connection failed: {error}")


def _reply(error: SMTPClientError) -> str:
    said: bytes | str = error.resp
    text = said.decode("utf-8", "replace") if isinstance(said, bytes) else said
    return f"{error.code} {text}" if error.code > 0 else text
