"""What sends letters, and how it fails: what the outbox and the API know of a postman."""

from __future__ import annotations

from typing import Final, Protocol

from ctfd_twisted.mail.rules import Letter, MailStep, Route

#: Seconds for a connection and then for each reply, where nobody waits for the outcome.
PATIENT: Final = 20.0


class NotSentError(Exception):
    """A letter was not sent; the text says why, without anything secret.

    ``for_good``: the server refused this very letter, so that sending it again is no use.
    """

    def __init__(self, text: str, *, for_good: bool = False) -> None:
        super().__init__(text)
        self.for_good = for_good


class Sender(Protocol):
    """Sends one letter; see :class:`ctfd_twisted.mail.postman.Postman`."""

    async def send(self, route: Route, sender_name: str, letter: Letter, *, patience: float = PATIENT) -> None:
        """Send *letter* in the name of the competition; raises ``NotSentError``.

        *patience* is in seconds, for the connection and then for each reply.
        """


class Trier(Sender, Protocol):
    """Can also tell how that went, step by step."""

    async def try_out(self, route: Route, sender_name: str, letter: Letter, *, patience: float) -> tuple[MailStep, ...]:
        """Send *letter* likewise and return each step; where it was not sent, the last one says why."""
