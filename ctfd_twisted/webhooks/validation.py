"""Whether what a receiver answered proves that it knows the shared secret. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from ctfd_twisted.webhooks.events import EVENT_NAMES
from ctfd_twisted.webhooks.problems import Problem
from ctfd_twisted.webhooks.rules import ANSWER
from ctfd_twisted.webhooks.signatures import digest_matches

_OK: Final = 200
_REDIRECTS: Final = range(300, 400)


def what_is_wrong(
    secrets: Sequence[str], token: str, status: int | None, answer: bytes, *, complete: bool
) -> Problem | None:
    """Why an answer does not validate; None where it does."""
    if status != _OK:
        hint = " Redirects are not followed." if status in _REDIRECTS else ""
        return Problem("status", f"The receiver answered {status} instead of 200.{hint}")
    if not complete:
        text = f"The answer is longer than {ANSWER} bytes, was cut off, or is not encoded as it says."
        return Problem("body", text)
    digest = _digest_in(answer)
    if digest is None:
        return Problem("body", 'The answer is not a JSON object with a text "response".')
    if not digest_matches(secrets, token, digest):
        return Problem("digest", "The digest is not the HMAC-SHA256 of the token under the shared secret.")
    return None


def checked_events(names: Sequence[str]) -> tuple[str, ...]:
    """*names* without repetitions; raises ``ValueError`` where there is none, or one that is no event."""
    if not names:
        raise ValueError("Choose at least one event.")
    for name in names:
        if name not in EVENT_NAMES:
            raise ValueError(f"There is no event {name!r}; the events are {', '.join(EVENT_NAMES)}.")
    return tuple(dict.fromkeys(names))


def _digest_in(answer: bytes) -> str | None:
    try:
        value: Any = msgspec.json.decode(answer)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    digest = value.get("response") if isinstance(value, dict) else None
    return digest if isinstance(digest, str) else None
