"""What is known of one mail's way as it goes: each step, and why the last one failed, without anything secret."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Final

from twisted.internet.interfaces import IReactorTime

from ctfd_twisted.mail.rules import Mailgun, MailStep, Route

#: Characters of what a server said that are kept of each step.
_LONGEST: Final = 300
_HIDDEN: Final = "***"


class Trace:
    """The steps that were taken; nothing of them tells what *route* keeps secret, whatever the server repeats."""

    def __init__(self, clock: IReactorTime, route: Route) -> None:
        self._clock = clock
        self._began = clock.seconds()
        self._route = route
        self._current: str | None = None
        self.steps: list[MailStep] = []

    def begin(self, step: str) -> None:
        """Note that *step* is under way."""
        self._current = step

    def took(self, detail: str) -> None:
        """Note that the present step went well."""
        self._end(detail, ok=True)

    def failed(self, detail: str) -> None:
        """Note that the present step failed, which ends it all."""
        self._end(detail, ok=False)

    def _end(self, detail: str, *, ok: bool) -> None:
        if self._current is not None:
            ms = round((self._clock.seconds() - self._began) * 1000)
            self.steps.append(MailStep(self._current, ok, without_secrets(detail, self._route), ms))
            self._current = None


def without_secrets(text: str, route: Route) -> str:
    """*text*, perhaps a server's, without what *route* keeps secret; on one line, and not too long."""
    for secret in sorted(_secrets(route), key=len, reverse=True):
        text = text.replace(secret, _HIDDEN)
    return " ".join(text.split())[:_LONGEST]


def _secrets(route: Route) -> Iterator[str]:
    """What must not be shown, in every form in which it is sent."""
    if isinstance(route, Mailgun):
        user, secret, forms = "api", route.api_key, "{0}:{1}"
    else:
        user, secret, forms = route.username or "", route.password or "", "\0{0}\0{1}"
    if secret:
        yield secret
        for text in (secret, forms.format(user, secret)):
            yield base64.b64encode(text.encode()).decode()
