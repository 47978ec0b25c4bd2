"""Who is asking: one signed-in person as every feature sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from ctfd_twisted.competition.rules import Competition


#: How the topics begin that are each about what is remembered of one person.
CALLERS: Final = "caller:"


def caller_topic(user_id: int) -> str:
    """Return the topic after which one person is looked up anew; "accounts" is the one after which all are."""
    return f"{CALLERS}{user_id}"


class Player(msgspec.Struct, frozen=True):
    """One person with their team, as the database knew them when they were read.

    ``session_hash`` is the keyed hash of the stored password hash (of the empty text where no password is set). A
    session keeps the value it began with, so that a changed password ends every other session
    (accounts-and-sessions.md section 3). Flags that are NULL in the database are false here.
    """

    id: int
    name: str
    email: str | None = None
    is_admin: bool = False
    team_id: int | None = None
    banned: bool = False
    hidden: bool = False
    verified: bool = False
    change_password: bool = False
    language: str | None = None
    oauth_id: int | None = None
    bracket_id: int | None = None
    team_name: str | None = None
    team_banned: bool = False
    team_hidden: bool = False
    session_hash: str = ""

    @property
    def type(self) -> str:
        """The discriminator stored in ``users.type``: ``admin`` or ``user``."""
        return "admin" if self.is_admin else "user"

    def account_id(self, competition: Competition) -> int | None:
        """Return the id of who scores: the team in teams mode (``None`` without one), else the person."""
        return self.team_id if competition.teams else self.id
