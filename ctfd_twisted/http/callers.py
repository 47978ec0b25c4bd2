"""What the pipeline needs to know about who is asking; the accounts feature provides it."""

from __future__ import annotations

from datetime import datetime
from enum import Enum
from typing import Final, Literal, Protocol

import msgspec

from ctfd_twisted.accounts.identity import Player


class Miss(Enum):
    """The answer of a look into memory that does not know."""

    MISS = "miss"


class Stale(Enum):
    """A session that ended because its player's password has changed since."""

    STALE = "stale"


MISS: Final = Miss.MISS
STALE: Final = Stale.STALE
NotInMemory = Literal[Miss.MISS]
StaleSession = Literal[Stale.STALE]


class TokenCaller(msgspec.Struct, frozen=True):
    """The owner of an access token, and the session id that stands for the token in a cookie."""

    player: Player
    sid: str


class Callers(Protocol):
    """Sessions and access tokens to players; the ``ready_`` forms look into memory alone."""

    def ready_session(self, sid: str, now: datetime) -> Player | NotInMemory | StaleSession | None:
        """The player signed in by the session *sid*, None where it is nobody's."""

    async def session(self, sid: str, now: datetime) -> Player | StaleSession | None:
        """The same, from the database."""

    def ready_token(self, value: str, now: datetime) -> TokenCaller | NotInMemory:
        """The owner of the access token *value*; raises ``Unauthorized`` where memory knows that it does not count."""

    async def token(self, value: str, now: datetime) -> TokenCaller:
        """The same, from the database; raises ``Unauthorized``."""


class Tracker(Protocol):
    """Remembers from which addresses players come."""

    def saw(self, player: Player, address: str, now: datetime, *, writes: bool) -> None:
        """*player* was seen at *address*; never waits."""
