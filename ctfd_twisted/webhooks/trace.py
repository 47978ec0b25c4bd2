"""What is known of one exchange with a receiver as it goes, and why one failed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct
from OpenSSL import SSL
from service_identity import CertificateError, VerificationError
from twisted.internet.error import ConnectError, ConnectionClosed, DNSLookupError
from twisted.internet.interfaces import IReactorTime
from twisted.python.failure import Failure

from ctfd_twisted.webhooks.problems import Problem

#: The steps of an exchange in their order; a plain connection has no "tls".
STEPS: Final = ("resolve", "connect", "tls", "request", "answer")


#: Characters of what was answered that a reason quotes at most.
_LONGEST: Final = 200


class EgressRefused(Exception):
    """The host's name or one of its addresses is one that nothing is sent to; the text says why."""


class WebhookStep(Struct, frozen=True):
    """One step of an exchange, and the milliseconds since its beginning at which it ended."""

    step: str
    ok: bool
    detail: str
    ms: int


class Trace:
    """The steps that were taken, and whether a connection was made for them or one that was open was used again."""

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        self._began = clock.seconds()
        self.steps: list[WebhookStep] = []
        self.reused = False

    @property
    def ms(self) -> int:
        """Milliseconds since the beginning."""
        return round((self._clock.seconds() - self._began) * 1000)

    @property
    def seconds(self) -> float:
        """Seconds since the beginning."""
        return self._clock.seconds() - self._began

    def took(self, step: str, detail: str) -> None:
        """Note that *step* went well."""
        self.steps.append(WebhookStep(step, ok=True, detail=detail, ms=self.ms))

    def failed(self, problem: Problem, *, tls: bool) -> None:
        """Note that the exchange ended with *problem*, at the step that its kind tells or that was to come next."""
        taken = {step.step for step in self.steps}
        next_one = next((step for step in STEPS if step not in taken and (tls or step != "tls")), STEPS[-1])
        step = _STEP_OF.get(problem.kind, next_one)
        self.steps.append(WebhookStep(step, ok=False, detail=problem.text, ms=self.ms))


_STEP_OF: Final = {"dns": "resolve", "egress": "resolve", "connection": "connect", "tls": "tls", "protocol": "answer"}


def explain(failure: Failure) -> Problem:
    """Why an exchange failed, in words for the admin who runs the receiver's other end."""
    causes = list(_causes(failure))
    for cause in causes:
        if isinstance(cause, EgressRefused):
            return Problem("egress", str(cause))
        if isinstance(cause, VerificationError):
            return Problem("tls", "The certificate is not for this host.")
        if isinstance(cause, CertificateError | SSL.Error):
            return Problem("tls", f"TLS failed: {_tls_reason(cause)}.")
    for cause in causes:
        if isinstance(cause, DNSLookupError):
            return Problem("dns", "The host's name can't be resolved.")
        if isinstance(cause, ConnectError):
            return Problem("connection", f"The connection failed: {cause}")
    if any(isinstance(cause, ConnectionClosed) for cause in causes):
        return Problem("answer", "The connection was closed without an answer.")
    return Problem("protocol", f"What was answered is not HTTP: {repr(causes[-1])[:_LONGEST]}")


def _causes(failure: Failure) -> Iterator[BaseException]:
    """The innermost exceptions of *failure*: Twisted's HTTP client wraps them in lists."""
    error = failure.value
    inner: Sequence[Failure] = getattr(error, "reasons", ())
    if not inner and error is not None:
        yield error
    for reason in inner:
        yield from _causes(reason)


def _tls_reason(error: CertificateError | SSL.Error) -> str:
    if error.args and isinstance(error.args[0], list | tuple):
        return "; ".join(str(entry[-1]) for entry in error.args[0] if entry) or "the connection was closed"
    return str(error) or "the connection was closed"
