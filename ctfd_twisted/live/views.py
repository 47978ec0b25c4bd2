"""What a stream carries: which channels were asked for, and what its listener may know. Pure.

All who listen are logged in. Beyond that a frame is made three times at most, and sent to all who may know the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import Enum
from typing import Final, NamedTuple

from ctfd_twisted.accounts.identity import Player
from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.errors import Invalid

SCOREBOARD: Final = "scoreboard"
SOLVES: Final = "solves"
KOTH: Final = "koth"
NOTIFICATIONS: Final = "notifications"
#: In the order in which a stream begins, and in which an id names how far each was told.
CHANNELS: Final = (NOTIFICATIONS, SOLVES, KOTH, SCOREBOARD)
BITS: Final[Mapping[str, int]] = {name: 1 << place for place, name in enumerate(CHANNELS)}
#: The channels of a stream as CTFd has it.
PLAIN: Final = 0

#: How far one channel was told; a cursor has one for each channel. "x" is known to no channel.
UNKNOWN: Final = "x"
_CURSOR: Final = re.compile(r"[0-9a-z:]{1,40}(?:\.[0-9a-z:]{1,40}){3}")

Cursor = tuple[str, ...]
#: What :data:`UNKNOWN` is of all channels: whoever comes with it is begun anew.
LOST: Final[Cursor] = (UNKNOWN,) * len(CHANNELS)


class View(Enum):
    """Those who may know the same; an onlooker is logged in but can't play: not verified yet, or without a team."""

    ADMIN = "admin"
    PLAYER = "player"
    ONLOOKER = "onlooker"


class Sight(NamedTuple):
    """What a view may see at a moment; ``until`` is the freeze, where it applies: nothing of then or later is told.

    ``scores`` is the board with its solves, ``challenges`` the names of those that are open to everybody.
    """

    scores: bool
    challenges: bool
    hills: bool
    until: datetime | None


class Step(NamedTuple):
    """One event, and how far it brings its channel."""

    place: str
    body: bytes


#: What a channel has to tell each view.
Steps = Mapping[View, Sequence[Step]]


def wanted(text: str | None) -> int:
    """The channels that *text* names, as bits; without it a stream as CTFd has it. Raises ``Invalid``."""
    if text is None:
        return PLAIN
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in BITS:
            raise Invalid(channels=[f"There is no channel {name[:40]!r}; there are {', '.join(sorted(BITS))}."])
    return sum(BITS[name] for name in set(names))


def read_cursor(text: str | None) -> Cursor | None:
    """The cursor that an event's id is; None where nothing is said, and :data:`LOST` for what is no id of ours."""
    if not text:
        return None
    return tuple(text.split(".")) if _CURSOR.fullmatch(text) else LOST


def view_of(player: Player, competition: Competition) -> View:
    """Which view *player* has."""
    if player.is_admin:
        return View.ADMIN
    verified = player.verified or not competition.truthy("verify_emails")
    return View.PLAYER if verified and player.account_id(competition) is not None else View.ONLOOKER


def sight_of(view: View, competition: Competition, now: datetime) -> Sight:
    """What *view* may see at *now*, as the gates of the API would let it."""
    if view is View.ADMIN:
        return Sight(scores=True, challenges=True, hills=True, until=None)
    accounts = competition.sees_accounts(logged_in=True, is_admin=False)
    scores = accounts and competition.sees_scores(logged_in=True, is_admin=False)
    open_now = competition.running(now) or (competition.ended(now) and competition.view_after)
    challenges = (
        view is View.PLAYER and open_now and competition.sees_challenges(logged_in=True, is_admin=False)
    )  # fmt: skip
    # The API goes on naming kings after the freeze. The stream is of what is new, and there is nothing new then.
    hills = challenges and scores and not competition.frozen(now)
    return Sight(scores=scores, challenges=challenges, hills=hills, until=competition.frozen_at)


def sights(competition: Competition, now: datetime) -> Mapping[View, Sight]:
    """What each view may see at *now*."""
    return {view: sight_of(view, competition, now) for view in View}
