"""The domain's errors.

::

    DomainError
    ├── Malformed       the body's structure is wrong            500 (or 400 by option)
    ├── Invalid         well-formed, but a value breaks a rule   400
    ├── Unauthorized    the credentials shown do not count       401
    ├── Forbidden       this caller may not                      403
    │   └── Refused     the same, with a message per field       403
    ├── NotFound        nothing there for this caller            404
    ├── TooLarge        the body is over the limit               413
    ├── TooMany         a rate limit                             429
    ├── Impossible      what CTFd answers with 500 and a text    500
    └── Busy            a bounded queue is full                  503

Rules and transactions raise them; ``http/errors.py`` holds the one table that turns them into answers.
"""

from __future__ import annotations

from collections.abc import Mapping

#: What is wrong, by field; the key ``""`` is the general slot. CTFd's clients see lists in most places and a bare
#: string in a few, so both are kept as given.
Messages = Mapping[str, list[str] | str]


class DomainError(Exception):
    """Something that was asked for can't be done, and the asker is told why."""


class Malformed(DomainError):
    """The body is not of the structure that was asked for; *reason* says what is wrong, and where."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class _WithMessages(DomainError):
    """An error that names fields."""

    def __init__(self, errors: Messages | None = None, **by_field: list[str] | str) -> None:
        self.errors: dict[str, list[str] | str] = {**(errors or {}), **by_field}
        super().__init__(self.errors)


class Invalid(_WithMessages):
    """Values that break a rule: ``Invalid(name=["User name has already been taken"])``."""


class Refused(_WithMessages):
    """The caller may not do this now, with the reason by field."""


class Impossible(_WithMessages):
    """Something that CTFd answers with status 500 and a text of its own; clients match on it."""


class Unauthorized(DomainError):
    """The token or session shown does not count."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class Forbidden(DomainError):
    """The caller may not do this; without a *message* the generic text is answered."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message)
        self.message = message


class NotFound(DomainError):
    """There is nothing here for this caller."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message)
        self.message = message


class TooLarge(DomainError):
    """The body is larger than *limit* bytes."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self.limit = limit


class TooMany(DomainError):
    """More than *limit* requests in *interval* seconds; *retry_after* seconds until the next one counts.

    A *reason* is told in place of the text that CTFd's clients know.
    """

    def __init__(self, limit: int, interval: int, retry_after: int | None = None, reason: str | None = None) -> None:
        super().__init__(limit, interval)
        self.reason = reason
        self.limit = limit
        self.interval = interval
        self.retry_after = interval if retry_after is None else retry_after


class Busy(DomainError):
    """A bounded queue is full, or the database can't be used; the caller may come back after *retry_after* seconds."""

    def __init__(self, retry_after: int = 1, reason: str = "The server is busy. Please try again shortly.") -> None:
        super().__init__(reason)
        self.retry_after = retry_after
        self.reason = reason
