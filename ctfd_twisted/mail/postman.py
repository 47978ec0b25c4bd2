"""Sends letters now, by whichever way the settings say."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from typing import Any, Final

from treq import content
from treq.client import HTTPClient
from twisted.internet.defer import Deferred
from twisted.internet.defer import TimeoutError as TookTooLong
from twisted.web.client import Agent
from twisted.web.http_headers import Headers

from ctfd_twisted.mail.conversation import Envelope
from ctfd_twisted.mail.message import BadAddressError, ascii_address, compose
from ctfd_twisted.mail.rules import Letter, Mailgun, MailStep, Route, Smtp
from ctfd_twisted.mail.sender import PATIENT, NotSentError
from ctfd_twisted.mail.smtp import send_by_smtp
from ctfd_twisted.mail.trace import Trace, without_secrets

_SUCCESS: Final = 200
_ERROR_LENGTH: Final = 300


class Postman:
    """Sends one letter at a time; *trust_root* is whose certificates count, the platform's by default."""

    def __init__(self, reactor: Any, trust_root: Any = None) -> None:
        self._reactor = reactor
        self._trust_root = trust_root

    async def send(self, route: Route, sender_name: str, letter: Letter, *, patience: float = PATIENT) -> None:
        """Send *letter* in the name of the competition; raises ``NotSentError``.

        *patience* is in seconds, for the connection and then for each reply.
        """
        try:
            await self._send(route, sender_name, letter, patience, None)
        except NotSentError as error:
            raise NotSentError(without_secrets(str(error), route), for_good=error.for_good) from error

    async def try_out(self, route: Route, sender_name: str, letter: Letter, *, patience: float) -> tuple[MailStep, ...]:
        """Send *letter* likewise and return each step; where it was not sent, the last one says why."""
        trace = Trace(self._reactor, route)
        try:
            await self._send(route, sender_name, letter, patience, trace)
        except NotSentError as error:
            trace.failed(str(error))
        return tuple(trace.steps)

    async def _send(self, route: Route, sender_name: str, letter: Letter, patience: float, trace: Trace | None) -> None:
        if isinstance(route, Mailgun):
            await self._by_mailgun(route, sender_name, letter, patience, trace)
        else:
            await self._by_smtp(route, sender_name, letter, patience, trace)

    async def _by_smtp(
        self, route: Smtp, sender_name: str, letter: Letter, patience: float, trace: Trace | None
    ) -> None:
        if trace is not None:
            trace.begin("compose")
        try:
            message = compose(letter, sender_name, route.sender, datetime.fromtimestamp(self._reactor.seconds(), UTC))
            envelope = Envelope(ascii_address(route.sender), ascii_address(letter.recipient), message)
        except BadAddressError as error:
            raise NotSentError(str(error), for_good=True) from error
        if trace is not None:
            trace.took(f"from {envelope.sender} to {envelope.recipient}")
        await send_by_smtp(self._reactor, route, envelope, patience=patience, trust_root=self._trust_root, trace=trace)

    async def _by_mailgun(
        self, route: Mailgun, sender_name: str, letter: Letter, patience: float, trace: Trace | None
    ) -> None:
        if trace is not None:
            trace.begin("request")
        client = HTTPClient(Agent(self._reactor, connectTimeout=patience))
        form = {
            "from": f"{sender_name} <{route.sender}>",
            "to": letter.recipient,
            "subject": letter.subject,
            "text": letter.body,
        }
        credentials = base64.b64encode(f"api:{route.api_key}".encode()).decode()
        try:
            response = await client.post(
                f"{route.base_url.rstrip('/')}/messages",
                data=form,
                headers=Headers({"Authorization": [f"Basic {credentials}"]}),
                timeout=patience,
                allow_redirects=False,
            )
            body: Deferred[bytes] = content(response)
            told = (await body.addTimeout(patience, self._reactor))[:_ERROR_LENGTH].decode("utf-8", "replace")
        except TookTooLong as error:
            raise NotSentError("Mailgun connection timed out") from error
        except Exception as error:
            raise NotSentError(f"Mailgun connection failed: {error}") from error
        if response.code != _SUCCESS:
            raise NotSentError(f"Mailgun refused: {response.code} {told}")
        if trace is not None:
            trace.took(f"{response.code} {told}")
