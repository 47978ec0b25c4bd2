"""One SMTP conversation of which each step is told."""

from __future__ import annotations

from typing import Any, Final, cast

from twisted.internet.interfaces import IHandshakeListener, ITCPTransport
from zope.interface import implementer

from ctfd_twisted.mail.conversation import Envelope, OneMail
from ctfd_twisted.mail.rules import Smtp
from ctfd_twisted.mail.trace import Trace

#: Which step each command begins.
_STEPS: Final = {
    b"EHLO ": "ehlo",
    b"HELO ": "ehlo",
    b"STARTTLS": "starttls",
    b"AUTH ": "auth",
    b"MAIL FROM:": "mail",
    b"RCPT TO:": "rcpt",
    b"DATA": "data",
}


@implementer(IHandshakeListener)
class WatchedMail(OneMail):
    """Sends one envelope and tells *trace* what came of each step; who waits for ``sent`` tells it of the failure."""

    def __init__(self, route: Smtp, envelope: Envelope, patience: float, context: Any, trace: Trace) -> None:
        super().__init__(route, envelope, patience, context)
        self._trace = trace
        self._route = route
        self._step = "connect"
        #: Whether a handshake of TLS comes next, whatever is said meanwhile.
        self._shaking = route.ssl
        self._secured = False

    def connectionMade(self) -> None:
        """Somebody has answered at the port."""
        peer: Any = cast("ITCPTransport", self.transport).getPeer()
        self._trace.took(f"{peer.host}, port {peer.port}")
        self._begin("greeting")
        super().connectionMade()

    def handshakeCompleted(self) -> None:  # noqa: N802 - Twisted's name
        """TLS is there, and the certificate was good."""
        transport: Any = self.transport
        self._trace.took(
            f"{transport.getHandle().get_protocol_version_name()}, with a certificate for {self._route.host}"
        )
        self._shaking, self._secured = False, True
        self._begin(self._step)

    def sendLine(self, line: bytes) -> None:  # noqa: N802 - Twisted's name
        """Send one line; most are the commands that begin a step."""
        step = next((step for command, step in _STEPS.items() if line.startswith(command)), None)
        if step is not None:
            self._begin(step)
        super().sendLine(line)

    def lineReceived(self, line: bytes) -> Any:
        """Hear one line; the last one of a good reply ends a step."""
        if line[3:4] != b"-" and (line[:1] == b"2" or line[:3] == b"354"):
            reply = b", ".join((*self.resp, line[4:])).decode("utf-8", "replace")
            self._trace.took(f"{line[:3].decode()} {reply}")
            self._prepare()
        return super().lineReceived(line)

    def _prepare(self) -> None:
        """Begin what follows a good reply: it may fail before anything is sent for it."""
        if self._step == "ehlo":
            if self._route.tls and not self._secured:
                self._begin("starttls")
            else:
                self._begin("auth" if self._route.username else "mail")
        elif self._step == "starttls":
            self._shaking = True
        elif self._step == "data":
            self._begin("message")

    def _begin(self, step: str) -> None:
        self._step = step
        self._trace.begin("tls" if self._shaking else step)
