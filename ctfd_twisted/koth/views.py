"""Hills as JSON, as the one who looks may see them. Pure.

Players see kings, but while scores are frozen or hidden no points, nor what points could be reckoned from. They never
see a hill's settings beyond its reward and interval, nor the moments of ticks to come: only the grid that these are
moved along.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Final, NotRequired, TypedDict

import msgspec

from ctfd_twisted.http.dates import iso
from ctfd_twisted.koth.boards import AnswerKept, Hill, KingOfHill, Tick
from ctfd_twisted.koth.reigns import PastReign, Standing
from ctfd_twisted.koth.rules import up_or_down
from ctfd_twisted.koth.schedule import Schedule

if TYPE_CHECKING:
    from ctfd_twisted.accounts.identity import Player
    from ctfd_twisted.competition.rules import Competition


class HillAccount(TypedDict):
    """An account as hills name it."""

    id: int
    name: str
    type: str


class PresentReign(TypedDict):
    """Who holds a hill, and since when; both are null where nobody does, or nobody whom the caller may see."""

    king: HillAccount | None
    since: str | None


class HillShown(PresentReign):
    """A hill; ``reward`` is in points and ``interval`` in seconds.

    Players are told of the last outcome whether the hill is ``up`` or ``down``, and no points while scores are frozen
    or hidden. ``next_tick`` leaves out what the tick is moved by, which is secret. The last two are for administrators.
    """

    challenge_id: int
    name: str
    category: str
    reward: int
    interval: int
    connection_info: str | None
    ticks_held: int | None
    last_outcome: str | None
    next_tick: str | None
    failures: NotRequired[int]
    reset_problem: NotRequired[str | None]


class HillStanding(TypedDict):
    """One account in the standings on a hill; ``longest_reign`` counts ticks."""

    account: HillAccount | None
    points: int | None
    ticks: int
    longest_reign: int


class HillWithStandings(HillShown):
    """A hill, and the standings on it, the best first."""

    standings: list[HillStanding]


class HillDetail(PresentReign):
    """The hill in its challenge's own detail."""

    reward: int
    interval: int
    next_tick: str | None


class HillSeen(HillDetail):
    """The same with the caller's own token, null for somebody who is not signed in."""

    token: str | None


#: One reign: ``from`` and ``to`` are the moments of its first and its last tick.
ReignShown = TypedDict(
    "ReignShown",
    {"account": HillAccount | None, "from": str | None, "to": str | None, "ticks": int, "points": int | None},
)


class TickShown(TypedDict):
    """One tick; the identifier, which may be a token, and the detail for the account's own people alone."""

    tick: int
    due: str | None
    latency_ms: int | None
    status: int | None
    outcome: str
    identifier: str | None
    account: HillAccount | None
    points: int | None
    detail: str | None


class CheckShown(TickShown):
    """One tick with all its evidence: the first bytes of each answer, and the award that was given for it."""

    started: str | None
    award_id: int | None
    signed: bool | None
    answers: list[AnswerKept]
    void_id: int | None
    voided_outcome: str | None


class Onlooker(msgspec.Struct, frozen=True):
    """What somebody may see of hills, beside which of them.

    ``until`` is the freeze while it holds for them: what was due then or later is left out. ``scores`` says whether the
    score settings let them see scores at all, ``points`` whether they see points now.
    """

    is_admin: bool
    accounts: bool
    scores: bool
    points: bool
    until: datetime | None


ADMIN: Final = Onlooker(is_admin=True, accounts=True, scores=True, points=True, until=None)


def onlooker(competition: Competition, now: datetime, player: Player | None) -> Onlooker:
    """What *player* (None: somebody who is not signed in) may see at *now*."""
    if player is not None and player.is_admin:
        return ADMIN
    logged_in = player is not None
    scores = competition.sees_scores(logged_in=logged_in, is_admin=False)
    frozen = competition.frozen(now)
    return Onlooker(
        is_admin=False,
        accounts=competition.sees_accounts(logged_in=logged_in, is_admin=False),
        scores=scores,
        points=scores and not frozen,
        until=competition.frozen_at if frozen else None,
    )


def shown_hill(hill: Hill, competition: Competition, now: datetime, sees: Onlooker) -> HillShown:
    """One line of the list of hills."""
    reign = _reign(hill, sees)
    shown: HillShown = {
        "challenge_id": hill.challenge_id,
        "name": hill.name,
        "category": hill.category,
        "reward": hill.reward,
        "interval": hill.interval,
        "connection_info": hill.connection_info,
        "king": reign["king"],
        "since": reign["since"],
        "ticks_held": hill.reign_ticks if sees.points else None,
        "last_outcome": hill.last_outcome if sees.is_admin else up_or_down(hill.last_outcome),
        "next_tick": iso(next_tick(hill, competition, now)),
    }
    if sees.is_admin:
        shown["failures"], shown["reset_problem"] = hill.failures, hill.reset_problem
    return shown


def shown_detail(hill: Hill, competition: Competition, now: datetime, player: Player | None) -> HillDetail:
    """What the challenge's own detail shows of the hill."""
    return {
        **_reign(hill, onlooker(competition, now, player)),
        "reward": hill.reward,
        "interval": hill.interval,
        "next_tick": iso(next_tick(hill, competition, now)),
    }


def shown_standing(standing: Standing, sees: Onlooker) -> HillStanding:
    """One account in the standings on a hill."""
    return {
        "account": shown_account(standing.account),
        "points": standing.points if sees.points else None,
        "ticks": standing.ticks,
        "longest_reign": standing.longest_reign,
    }


def shown_reign(reign: PastReign, sees: Onlooker) -> ReignShown:
    """One reign: ``from`` and ``to`` are the moments of its first and its last tick."""
    return {
        "account": shown_account(reign.account),
        "from": iso(reign.begun),
        "to": iso(reign.last),
        "ticks": reign.ticks,
        "points": reign.points if sees.points else None,
    }


def shown_check(tick: Tick) -> CheckShown:
    """One tick with all its evidence, for administrators."""
    return {
        **shown_tick(tick, ADMIN, own=True),
        "started": iso(tick.started),
        "award_id": tick.award_id,
        "signed": tick.signed,
        "answers": list(tick.answers),
        "void_id": tick.void_id,
        "voided_outcome": tick.voided,
    }


def shown_tick(tick: Tick, sees: Onlooker, *, own: bool) -> TickShown:
    """One tick for players; the identifier, which may be a token, for its *own* account alone."""
    return {
        "tick": tick.tick,
        "due": iso(tick.due),
        "latency_ms": tick.latency_ms,
        "status": tick.status,
        "outcome": tick.outcome,
        "identifier": tick.identifier if own else None,
        "account": shown_account(tick.account if own or (sees.accounts and tick.listed) else None),
        "points": tick.points if own or sees.points else None,
        "detail": tick.detail if own else None,
    }


def shown_account(account: KingOfHill | None) -> HillAccount | None:
    """An account as hills name it."""
    return None if account is None else {"id": account.id, "name": account.name, "type": account.type}


def next_tick(hill: Hill, competition: Competition, now: datetime) -> datetime | None:
    """When the next tick is due, but for its jitter, which is secret; None while no ticks are due."""
    polled = competition.is_set_up and not competition.paused and competition.running(now)
    if not (polled and hill.running) or hill.first_tick is None:
        return None
    plain = Schedule(hill.challenge_id, hill.first_tick, hill.interval, 0, "")
    return plain.grid(plain.last_due(now) + 1)


def _reign(hill: Hill, sees: Onlooker) -> PresentReign:
    # A king who was hidden or banned since is none that players may see.
    shown = hill.king if sees.is_admin or (sees.accounts and hill.listed) else None
    return {"king": shown_account(shown), "since": iso(hill.since) if shown is not None else None}
