"""Hills as JSON, as the one who looks may see them. Pure.

Players see kings, but while scores are frozen or hidden no points, nor what points could be reckoned from. They never
see a hill's settings beyond its reward and interval, nor the moments of ticks to come: only the grid that these are
moved along.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ctfd_twisted.http.dates import iso
from ctfd_twisted.koth.boards import Hill, KingOfHill, Tick
from ctfd_twisted.koth.reigns import PastReign, Standing
from ctfd_twisted.koth.rules import up_or_down
from ctfd_twisted.koth.schedule import Schedule

if TYPE_CHECKING:
    from ctfd_twisted.accounts.identity import Player
    from ctfd_twisted.competition.rules import Competition


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


def shown_hill(hill: Hill, competition: Competition, now: datetime, sees: Onlooker) -> dict[str, Any]:
    """One line of the list of hills."""
    shown = {
        "challenge_id": hill.challenge_id,
        "name": hill.name,
        "category": hill.category,
        "reward": hill.reward,
        "interval": hill.interval,
        "connection_info": hill.connection_info,
        **_reign(hill, sees),
        "ticks_held": hill.reign_ticks if sees.points else None,
        "last_outcome": hill.last_outcome if sees.is_admin else up_or_down(hill.last_outcome),
        "next_tick": iso(next_tick(hill, competition, now)),
    }
    if sees.is_admin:
        shown |= {"failures": hill.failures, "reset_problem": hill.reset_problem}
    return shown


def shown_detail(hill: Hill, competition: Competition, now: datetime, player: Player | None) -> dict[str, Any]:
    """What the challenge's own detail shows of the hill."""
    return {
        **_reign(hill, onlooker(competition, now, player)),
        "reward": hill.reward,
        "interval": hill.interval,
        "next_tick": iso(next_tick(hill, competition, now)),
    }


def shown_standing(standing: Standing, sees: Onlooker) -> dict[str, Any]:
    """One account in the standings on a hill."""
    return {
        "account": shown_account(standing.account),
        "points": standing.points if sees.points else None,
        "ticks": standing.ticks,
        "longest_reign": standing.longest_reign,
    }


def shown_reign(reign: PastReign, sees: Onlooker) -> dict[str, Any]:
    """One reign: ``from`` and ``to`` are the moments of its first and its last tick."""
    return {
        "account": shown_account(reign.account),
        "from": iso(reign.begun),
        "to": iso(reign.last),
        "ticks": reign.ticks,
        "points": reign.points if sees.points else None,
    }


def shown_check(tick: Tick) -> dict[str, Any]:
    """One tick with all its evidence, for administrators."""
    return {
        **shown_tick(tick, ADMIN, own=True),
        "started": iso(tick.started),
        "identifier": tick.identifier,
        "award_id": tick.award_id,
        "signed": tick.signed,
        "answers": list(tick.answers),
        "void_id": tick.void_id,
        "voided_outcome": tick.voided,
    }


def shown_tick(tick: Tick, sees: Onlooker, *, own: bool) -> dict[str, Any]:
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


def shown_account(account: KingOfHill | None) -> dict[str, Any] | None:
    """An account as hills name it."""
    return None if account is None else {"id": account.id, "name": account.name, "type": account.type}


def next_tick(hill: Hill, competition: Competition, now: datetime) -> datetime | None:
    """When the next tick is due, but for its jitter, which is secret; None while no ticks are due."""
    polled = competition.is_set_up and not competition.paused and competition.running(now)
    if not (polled and hill.running) or hill.first_tick is None:
        return None
    plain = Schedule(hill.challenge_id, hill.first_tick, hill.interval, 0, "")
    return plain.grid(plain.last_due(now) + 1)


def _reign(hill: Hill, sees: Onlooker) -> dict[str, Any]:
    # A king who was hidden or banned since is none that players may see.
    shown = hill.king if sees.is_admin or (sees.accounts and hill.listed) else None
    return {"king": shown_account(shown), "since": iso(hill.since) if shown is not None else None}
