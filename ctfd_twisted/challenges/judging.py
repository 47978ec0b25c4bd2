"""What a challenge type is asked about an answer, and what it says. Pure."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

#: The outcomes that the comparison alone can have; the limits and the store add further ones.
Status = Literal["correct", "partial", "incorrect"]


class Flag(msgspec.Struct, frozen=True):
    """One flag of a challenge, as stored: an unknown ``type`` never matches."""

    id: int
    type: str | None
    content: str | None
    data: str | None


class Partial(msgspec.Struct, frozen=True):
    """An earlier answer of the account that matched a flag while more was needed."""

    user_id: int | None
    provided: str


class Trial(msgspec.Struct, frozen=True):
    """One answer, and all that may be needed to judge it.

    ``submission`` is trimmed. ``members`` are the ids of the present members of the player's team, and ``None`` where
    single users play. ``partials`` are those of the player's account on this challenge; they are read only where
    ``logic`` is ``all`` or ``team``, and are empty otherwise.
    """

    submission: str
    flags: tuple[Flag, ...] = ()
    logic: str = "any"
    partials: tuple[Partial, ...] = ()
    user_id: int | None = None
    members: frozenset[int] | None = None


class Verdict(msgspec.Struct, frozen=True):
    """What an answer is worth, and the text that the player reads."""

    status: Status
    message: str

    @property
    def matched(self) -> bool:
        """Whether the answer was right as far as it goes."""
        return self.status != "incorrect"


CORRECT: Final = Verdict("correct", "Correct")
INCORRECT: Final = Verdict("incorrect", "Incorrect")
MORE_FLAGS: Final = Verdict("partial", "Correct but more flags are required")
MORE_MEMBERS: Final = Verdict("partial", "Correct but all team members must submit a flag")


class UnusableFlag(Exception):
    """A flag can't be compared with anything; *message* is what the player reads."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
