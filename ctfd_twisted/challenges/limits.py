"""How often an account may be wrong (docs/rules.md#attempts). Pure.

CTFd keeps a counter of recent attempts beside the database, because its requests overtake each other between the check
and the write. Here check and write are one transaction that holds the account's row, so the stored rows alone decide.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final, Literal

import msgspec

#: Seconds over which wrong answers to all challenges are counted.
WINDOW: Final = 60
DEFAULT_PER_MINUTE: Final = 10
DEFAULT_TIMEOUT: Final = 300

#: A message that ends so already needs no full stop before the number of tries.
_ENDINGS: Final = ("!", "(", ")", ".", ";", "?", "[", "]", "{", "}")


class Limits(msgspec.Struct, frozen=True):
    """The competition's limits: wrong answers per minute, and what happens after a challenge's last try.

    ``timeout`` is in seconds and counts only where ``behavior`` is ``timeout``.
    """

    per_minute: int = DEFAULT_PER_MINUTE
    behavior: Literal["lockout", "timeout"] = "lockout"
    timeout: int = DEFAULT_TIMEOUT

    def counted_since(self, now: datetime) -> datetime | None:
        """From when on wrong answers to one challenge count; ``None`` for ever."""
        return now - timedelta(seconds=self.timeout) if self.behavior == "timeout" else None


class Wrong(msgspec.Struct, frozen=True):
    """Wrong answers within some window: how many, and when the oldest was given (``None`` without any)."""

    count: int = 0
    oldest: datetime | None = None


class Refusal(msgspec.Struct, frozen=True):
    """An answer that is not even compared; ``stored`` says whether it leaves a row while the event runs.

    ``retry_after`` is the seconds until the next answer is compared, ``None`` where none will be.
    """

    http_status: int
    message: str
    stored: bool
    retry_after: int | None = None


def refusal(limits: Limits, now: datetime, max_attempts: int, here: Wrong, everywhere: Wrong) -> Refusal | None:
    """Why an attempt is refused, or ``None`` where it is not.

    *here* are the wrong answers to this challenge since ``limits.counted_since``, *everywhere* those to all challenges
    within ``WINDOW`` seconds. ``max_attempts`` 0 is no limit.
    """
    if 0 < max_attempts <= here.count:
        if limits.behavior == "timeout":
            wait = _left(limits.timeout, now, here)
            return Refusal(429, f"Not accepted. Try again in {wait} seconds", stored=True, retry_after=wait)
        return Refusal(403, "Not accepted. You have 0 tries remaining", stored=False)
    if everywhere.count >= limits.per_minute:
        wait = _left(WINDOW, now, everywhere)
        message = f"You're submitting flags too fast. Try again in {wait} seconds."
        return Refusal(429, message, stored=True, retry_after=wait)
    return None


def _left(window: int, now: datetime, wrong: Wrong) -> int:
    """Whole seconds until the oldest wrong answer leaves the window, rounded up."""
    return window - (int((now - wrong.oldest).total_seconds()) if wrong.oldest is not None else 0)


def with_tries(message: str, limits: Limits, now: datetime, max_attempts: int, here: Wrong) -> str:
    """*message* of a wrong answer, with how many tries remain; *here* does not count this answer yet."""
    if max_attempts <= 0:
        return message
    remaining = max(max_attempts - here.count - 1, 0)
    stop = "" if message.endswith(_ENDINGS) else "."
    text = f"{message}{stop} You have {remaining} {'try' if remaining == 1 else 'tries'} remaining."
    if remaining == 0 and limits.behavior == "timeout":
        text += f" Try again in {_left(limits.timeout, now, here)} seconds"
    return text
