"""Looks again at who listens: a stream ends with the session, or the access token, that it began with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from datetime import datetime
from typing import Final, Protocol

from ctfd_twisted.accounts.identity import Player
from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.db.notices import EVERYTHING
from ctfd_twisted.live.hub import Hub
from ctfd_twisted.live.views import view_of

#: Seconds between two looks: who joins a team tells the same topic as a ban, and they come by hundreds at the opening.
PAUSE: Final = 5
#: Sessions and tokens end by the time of day as well, so there is a look after so many seconds at least.
AT_LEAST: Final = 60
_TOPICS: Final = frozenset({"accounts", "joined", "sessions", "tokens", "config", EVERYTHING})


class Doorkeeper(Protocol):
    """Who is behind sessions; ``accounts.directory.Directory`` is the one there is."""

    async def players(self, sids: Collection[str], now: datetime) -> Mapping[str, Player]:
        """The players behind *sids*, those left out whose session or token has ended."""


class Door:
    """Sends away who may not listen any more, and lets others see what they may see by now."""

    def __init__(
        self,
        hub: Hub,
        doorkeeper: Doorkeeper,
        competition: Callable[[], Awaitable[Competition]],
        now: Callable[[], datetime],
    ) -> None:
        self._hub = hub
        self._doorkeeper = doorkeeper
        self._competition = competition
        self._now = now

    @staticmethod
    def heard(topics: frozenset[str]) -> bool:
        """Whether a commit that tells *topics* may have ended somebody's right to listen."""
        return not topics.isdisjoint(_TOPICS) or any(topic.startswith("session:") for topic in topics)

    async def look(self) -> None:
        """Look at everybody."""
        sids = {stream.sid for stream in self._hub.streams()}
        if not sids:
            return
        competition = await self._competition()
        players = await self._doorkeeper.players(sids, self._now())
        for stream in tuple(self._hub.streams()):
            if stream.sid not in sids:
                continue  # who came meanwhile was looked at then
            player = players.get(stream.sid)
            if player is None or player.id != stream.player_id or player.banned or player.team_banned:
                stream.end()
            elif (view := view_of(player, competition)) is not stream.view:
                self._hub.move(stream, view)
