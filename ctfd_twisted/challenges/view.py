"""The challenges through one caller's eyes. Pure.

Whatever shows something of a challenge (lists, details, hills, hints, files, solutions, ratings) asks here, so that
there is one decision about who sees what.
"""

from __future__ import annotations

from collections.abc import Awaitable
from datetime import datetime
from typing import Any, Protocol

import msgspec

from ctfd_twisted.accounts.identity import Player
from ctfd_twisted.challenges.catalogue import Catalogue, Entry
from ctfd_twisted.challenges.ids import row_id
from ctfd_twisted.challenges.own import Own, Rating
from ctfd_twisted.challenges.rules import Reach, Viewer, reach
from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.errors import Forbidden, NotFound


class View(msgspec.Struct, frozen=True):
    """The catalogue, what of it is the caller's account's own, and what is known of the caller."""

    catalogue: Catalogue
    own: Own
    viewer: Viewer
    user_id: int | None
    is_admin: bool
    now: datetime

    def reach(self, entry: Entry) -> Reach:
        """How near the caller comes to a challenge; administrators come everywhere."""
        return Reach.OPEN if self.is_admin else reach(entry.gate, self.now, self.viewer, self.catalogue.entries)

    def rating_of(self, entry: Entry) -> Rating | None:
        """What the caller thinks of a challenge."""
        return self.own.ratings.get((self.user_id, entry.id))

    def next_after(self, entry: Entry) -> int | None:
        """The challenge to suggest after *entry*, if the caller may know of it."""
        following = self.catalogue.entries.get(entry.columns["next_id"] or 0)
        return following.id if following is not None and self.reach(following).exists else None

    def find(self, challenge_id: str | int) -> Entry:
        """The challenge of that id; raises ``NotFound`` where there is none, and for what is no id."""
        number = row_id(challenge_id) if isinstance(challenge_id, str) else challenge_id
        entry = self.catalogue.entries.get(number)
        if entry is None:
            raise NotFound
        return entry

    def accessible(self, challenge_id: str | int) -> Entry:
        """The same for what hangs on a challenge; ``NotFound`` also where the caller may not know of it."""
        entry = self.find(challenge_id)
        if not self.reach(entry).accessible:
            raise NotFound
        return entry

    def demand_readable(self, challenge_id: int | None) -> Entry:
        """The challenge of that id, where the caller may read what hangs on it; raises ``NotFound`` elsewhere."""
        entry = self.find(challenge_id or 0)
        if not self.reach(entry).readable:
            raise NotFound
        return entry


class Views(Protocol):
    """Gives the view of a call (``http.call.Call``); ``reader.ChallengeReader`` is the one there is."""

    def ready(self, call: Any) -> View | None:
        """The view, if all of it is in memory."""

    def get(self, call: Any) -> Awaitable[View]:
        """The view."""


def require_account(player: Player | None, competition: Competition) -> None:
    """Where teams play, a player needs a team to see challenges; raises ``Forbidden``."""
    if player is not None and not player.is_admin and competition.teams and player.team_id is None:
        raise Forbidden
