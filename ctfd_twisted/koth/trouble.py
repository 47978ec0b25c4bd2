"""Why an exchange failed: which outcome that is, and a sentence for the administrator."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

from OpenSSL import SSL
from service_identity import CertificateError, VerificationError
from twisted.internet.defer import CancelledError
from twisted.internet.error import ConnectError, ConnectionClosed, DNSLookupError
from twisted.logger import Logger
from twisted.python.failure import Failure as TwistedFailure
from twisted.web.client import ResponseFailed

from ctfd_twisted.koth.protocol import MOST_BYTES, Failure

_log = Logger()


class TooMuch(Exception):
    """An answer is longer than what is read of one."""


class Nested(Exception):
    """An answer is compressed more than once."""


class Unusable(Exception):
    """What the hill was given for TLS can't be used; the text says why."""


class Untrusted(Exception):
    """Nobody whom we trust vouches for the certificate that was shown; the text says why."""


def late(seconds: float) -> tuple[Failure, str]:
    """The outcome of an answer that was not complete in time."""
    return "unreachable", f"no complete answer within {seconds:g} seconds"


def is_cancelled(error: BaseException) -> bool:
    """Whether *error* is what becomes of an exchange that was cancelled."""
    return any(cause.check(CancelledError) for cause in _causes(TwistedFailure(error)))


def explain(failure: TwistedFailure, *, heard: bool) -> tuple[Failure, str]:
    """The outcome that *failure* means, and why; *heard*: at least something had been said when it happened."""
    causes = [cause.value for cause in _causes(failure) if cause.value is not None]
    wrong = next((reason for cause in causes if (reason := _misshape(cause)) is not None), None)
    if wrong is not None:
        return "malformed", wrong
    distrust = next((reason for cause in causes if (reason := _distrust(cause)) is not None), None)
    if distrust is not None:
        return "tls_error", distrust
    for cause in causes:
        match cause:
            case DNSLookupError():
                return "unreachable", f"the host's name could not be resolved: {cause}"
            case ConnectError():
                return "unreachable", f"no connection: {cause}"
    if heard and isinstance(failure.value, ResponseFailed):
        # What twisted.web raises for bytes that are no HTTP has no common base, and on long lines it only hangs up.
        return "malformed", "the answer is no HTTP, or ends too early"
    if all(isinstance(cause, ConnectionClosed) for cause in causes):
        return "unreachable", "the connection was closed before the answer"
    _log.failure("an exchange with an agent failed in an unexpected way", failure)
    return "unreachable", f"the exchange failed: {causes[0]}"


def _misshape(cause: BaseException) -> str | None:
    """What is wrong with the answer's shape, or None where *cause* says nothing of that."""
    match cause:
        case TooMuch():
            return f"the answer is longer than {MOST_BYTES} bytes"
        case Nested():
            return "the answer is compressed more than once"
        case zlib.error():
            return "the answer is not compressed as it says"
    return None


def _distrust(cause: BaseException) -> str | None:
    """Why the other side is not trusted, or None where *cause* says nothing of that."""
    match cause:
        case Unusable() | Untrusted():
            return str(cause)
        case VerificationError():
            return "the certificate is for another host"
        case CertificateError():
            return f"the certificate can't be read: {cause}"
        case SSL.Error():
            return f"TLS failed: {_openssl(cause)}"
    return None


def _causes(failure: TwistedFailure) -> Iterator[TwistedFailure]:
    reasons: Any = getattr(failure.value, "reasons", None)
    if isinstance(reasons, list) and reasons:
        for reason in reasons:
            yield from _causes(reason)
    else:
        yield failure


def _openssl(error: SSL.Error) -> str:
    """OpenSSL's own words, without the names of its functions."""
    queue = error.args[0] if error.args and isinstance(error.args[0], list) else []
    words = [entry[-1] for entry in queue if isinstance(entry, tuple) and entry]
    return ", ".join(dict.fromkeys(words)) or "the handshake was broken off"
