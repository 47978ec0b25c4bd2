"""What can be wrong with an exchange, in words. Pure."""

from __future__ import annotations

from msgspec import Struct


class Problem(Struct, frozen=True):
    """Why an exchange failed: a word for programs and a sentence for people."""

    kind: str
    text: str


def no_answer(seconds: float) -> Problem:
    """No answer in time."""
    return Problem("timeout", f"No answer within {seconds:g} seconds.")


def no_end(seconds: float) -> Problem:
    """An answer that began in time and did not end in time."""
    return Problem("timeout", f"The answer did not end within {seconds:g} seconds.")
