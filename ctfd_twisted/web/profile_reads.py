"""What the page of one user or team shows, read in one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

import msgspec
from sqlalchemy import Connection, select

from ctfd_twisted.accounts.awards import Award, list_awards
from ctfd_twisted.accounts.brackets import BracketFilter, list_brackets
from ctfd_twisted.accounts.countries import COUNTRIES
from ctfd_twisted.accounts.history import Asker, Deed, list_deeds
from ctfd_twisted.accounts.identity import Player
from ctfd_twisted.accounts.profiles import show_team, show_user
from ctfd_twisted.accounts.records import Entry, TeamRecord, UserRecord
from ctfd_twisted.accounts.tables import users
from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.scoring.accounts import USERS
from ctfd_twisted.scoring.store import account_score, points_of

#: Awards that a page lists; a hill's king has thousands.
AWARDS_SHOWN: Final = 100


class Member(msgspec.Struct, frozen=True):
    """One member of a team; no score where scores are not shown."""

    id: int
    name: str
    score: int | None


class Solve(msgspec.Struct, frozen=True):
    """One solve."""

    challenge: str
    category: str
    value: int
    date: datetime | None


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """One account as its page shows it.

    ``account_id`` is who scores: the team's id, also of a user, where teams play. ``score`` is None where none is
    shown. ``fields`` are names with what was answered, blanks left out.
    """

    id: int
    account_id: int | None
    name: str
    is_team: bool
    official: bool
    team: Member | None = None
    bracket: str | None
    affiliation: str | None
    country: str | None
    website: str | None
    fields: tuple[tuple[str, str], ...]
    score: int | None
    captain_id: int | None = None
    members: tuple[Member, ...] = ()
    awards: tuple[Award, ...] = ()
    more_awards: int = 0
    solves: tuple[Solve, ...] = ()


class Looker(msgspec.Struct, frozen=True):
    """Who looks, when, and whether scores are shown to them. ``own``: at themselves, so nothing is frozen."""

    player: Player | None
    now: datetime
    scores: bool
    own: bool = False

    @property
    def sees_scores(self) -> bool:
        """Whether scores, and what they come from, are shown: one's own always are."""
        return self.scores or self.own

    @property
    def everyone(self) -> bool:
        """Whether hidden and banned accounts are shown to them."""
        return self.own or (self.player is not None and self.player.is_admin)


def read_user_profile(conn: Connection, competition: Competition, user_id: int, looker: Looker) -> Profile:
    """The page of one user; raises ``NotFound`` for one that *looker* may not know of."""
    user = show_user(conn, user_id, everyone=looker.everyone)
    team = None
    if competition.teams and user.team_id is not None and (user.team_listed or looker.everyone):
        found = show_team(conn, user.team_id, everyone=True)
        team = Member(found.id, found.name or "", None)
    account_id = (team.id if team else None) if competition.teams else user.id
    return _profile(conn, competition, looker, user, (user.id,), account_id=account_id, team=team)


def read_team_profile(conn: Connection, competition: Competition, team_id: int, looker: Looker) -> Profile:
    """The page of one team; raises ``NotFound`` for one that *looker* may not know of."""
    team = show_team(conn, team_id, everyone=looker.everyone)
    members = team.members if looker.everyone else team.listed_members
    return _profile(conn, competition, looker, team, team.members, account_id=team.id, shown_members=members)


def _profile(
    conn: Connection,
    competition: Competition,
    looker: Looker,
    record: UserRecord | TeamRecord,
    user_ids: Sequence[int],
    *,
    account_id: int | None,
    team: Member | None = None,
    shown_members: Sequence[int] = (),
) -> Profile:
    asker = Asker(looker.player, looker.now, own=looker.own)
    awards = list_awards(conn, competition, asker, user_ids) if looker.sees_scores else ()
    solves = list_deeds(conn, competition, asker, user_ids, "correct") if looker.sees_scores else ()
    score = None
    if account_id is not None and looker.sees_scores:
        score = account_score(conn, competition, account_id, frozen=not looker.own)
    is_team = isinstance(record, TeamRecord)
    return Profile(
        id=record.id,
        account_id=account_id,
        name=record.name or "",
        is_team=is_team,
        official=record.oauth_id is not None,
        team=team,
        bracket=_bracket(conn, record.bracket_id),
        affiliation=record.affiliation,
        country=COUNTRIES.get(record.country or ""),
        website=record.website,
        fields=_answers(record.fields),
        score=score,
        captain_id=record.captain_id if isinstance(record, TeamRecord) else None,
        members=_members(conn, competition, looker, shown_members) if is_team else (),
        awards=awards[:AWARDS_SHOWN],
        more_awards=max(0, len(awards) - AWARDS_SHOWN),
        solves=tuple(map(_solve, solves)),
    )


def _members(conn: Connection, competition: Competition, looker: Looker, ids: Sequence[int]) -> tuple[Member, ...]:
    named = conn.execute(select(users.c.id, users.c.name).where(users.c.id.in_(ids)).order_by(users.c.id)).all()
    if not looker.sees_scores:
        return tuple(Member(row.id, row.name or "", None) for row in named)
    found = points_of(conn, competition, USERS, frozen=not looker.own, account_ids=ids)
    points = {entry.account_id: entry.score for entry in found}
    return tuple(Member(row.id, row.name or "", points.get(row.id, 0)) for row in named)


def _bracket(conn: Connection, bracket_id: int | None) -> str | None:
    if bracket_id is None:
        return None
    return next((bracket.name for bracket in list_brackets(conn, BracketFilter()) if bracket.id == bracket_id), None)


def _answers(entries: Iterable[Entry]) -> tuple[tuple[str, str], ...]:
    """Public answers alone, whoever looks: the page is one that others see as well."""
    texts = [
        (entry.name, "yes" if entry.value is True else str(entry.value))
        for entry in entries
        if entry.public and entry.value not in (None, "", False)
    ]
    return tuple(texts)


def _solve(deed: Deed) -> Solve:
    challenge = deed.challenge
    if challenge is None:
        return Solve("A challenge that is gone", "", 0, deed.date)
    return Solve(challenge.name or "", challenge.category or "", challenge.value or 0, deed.date)
