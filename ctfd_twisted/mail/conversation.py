"""What is said over one SMTP connection."""

from __future__ import annotations

from io import BytesIO
from typing import Any, BinaryIO, cast

import msgspec
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import ITCPTransport
from twisted.internet.protocol import connectionDone
from twisted.mail.smtp import DNSNAME, SUCCESS, ESMTPSender, SMTPClientError
from twisted.python.failure import Failure

from ctfd_twisted.mail.rules import Smtp


class Envelope(msgspec.Struct, frozen=True):
    """From whom, to whom, and the message, whose lines end in line feeds."""

    sender: str
    recipient: str
    message: bytes


class RefusedMailError(SMTPClientError):
    """The server would not take this mail for this recipient."""


class OneMail(ESMTPSender):
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
        """Whom it is from; the second time that there is nothing more."""
        if self._begun:
            return None
        self._begun = True
        return self._envelope.sender

    def getMailTo(self) -> list[bytes]:  # noqa: N802 - Twisted's name
        """Whom it is for."""
        return [self._envelope.recipient.encode("ascii")]

    def getMailData(self) -> BinaryIO:  # noqa: N802 - Twisted's name
        """What it says."""
        return BytesIO(self._envelope.message)

    def sendError(self, exc: Exception) -> None:  # noqa: N802 - Twisted's name
        """Hang up; nothing was sent because of *exc*."""
        self._abort()
        self._settle(exc)

    def sentMail(self, code: int, resp: bytes | str, *rest: Any) -> None:  # noqa: N802 - Twisted's name
        """Hear what became of it."""
        if code in SUCCESS:
            self._settle(None)
            return
        # Without recipients asked, it was the sender that the server refused: that is a matter of settings.
        _, recipients, _ = rest
        refused = next(((number, text) for _, number, text in recipients if number not in SUCCESS), (code, resp))
        self._settle(RefusedMailError(*refused) if recipients else SMTPClientError(*refused))

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Hear that the server has hung up, which is no good end unless the mail was taken before."""
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
