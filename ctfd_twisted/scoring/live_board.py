"""The public board, kept in memory and brought up to date with each solve and award (record 80)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Iterable, Mapping
from datetime import datetime
from functools import cache
from itertools import count
from typing import Any, Final, Protocol

import msgspec
from msgspec.structs import replace
from sqlalchemy import Connection, Select, bindparam, select

from ctfd_twisted.accounts.tables import brackets, users
from ctfd_twisted.challenges.tables import challenges
from ctfd_twisted.competition.store import read_competition
from ctfd_twisted.http.shared import Press, Shared
from ctfd_twisted.scoring.accounts import USERS, AccountKind, account_kind
from ctfd_twisted.scoring.ledger import Ledger
from ctfd_twisted.scoring.lines import Member, board_answer, rest_of_line
from ctfd_twisted.scoring.news import teams_in, users_in
from ctfd_twisted.scoring.store import Standing, accounts_with_points, displayed_value, placed, points_until
from ctfd_twisted.scoring.tables import solves, submissions
from ctfd_twisted.scoring.values import following, frozen_values


class Board(msgspec.Struct, frozen=True, eq=False):
    """The board at one moment; ``answer`` is that of ``GET /api/v1/scoreboard``. Equal to itself alone."""

    standings: tuple[Standing, ...]
    #: The place of each account, by id.
    places: Mapping[int, int]
    #: The place of each user among users, where teams play as well.
    people: Mapping[int, int]
    answer: Shared


class BoardKeeper(Protocol):
    """Gives the board after the last commit; ``boards.PublicBoard`` is the one there is."""

    def ready(self) -> Board | None:
        """The board, if it is in memory and up to date."""

    def get(self) -> Awaitable[Board]:
        """The board, brought up to date first where it has to be."""


class LiveBoard:
    """A board that grows. ``board`` is what readers keep of it; all else is changed in place by :func:`grow`."""

    def __init__(self, conn: Connection, root: str, press: Press) -> None:
        """Add everything up; addresses in the answer, which *press* makes, begin with *root*."""
        competition = read_competition(conn)
        self._root = root
        self._press = press
        self._kind = account_kind(teams_mode=competition.teams)
        self._freeze = competition.frozen_at
        #: Whether something has been solved after the freeze: from then on no value that is shown moves any more.
        self._sealed = self._freeze is not None and _solved_since(conn, self._freeze)
        #: Before that it is what CTFd left behind that was not computed anew after a ban; until somebody solves it.
        self._values = frozen_values(conn, competition)
        worth = _worth(conn, self._values)
        if self._sealed:
            # Those that are still the stored ones stop following them, too.
            self._values = worth
        self._ledger = self._added_up(conn, self._kind, worth)
        self._known = accounts_with_points(conn, self._kind)
        self._people = self._added_up(conn, USERS, worth) if competition.teams else None
        self._persons = accounts_with_points(conn, USERS) if competition.teams else {}
        self._members = _members(conn) if competition.teams else {}
        self._team_of = {member.id: team_id for team_id, members in self._members.items() for member in members}
        self._lines: dict[int, bytes] = {}
        self._standing: dict[int, Standing] = {}
        self.board = self._shown()

    def _added_up(self, conn: Connection, kind: AccountKind, worth: Mapping[int, int]) -> Ledger:
        points = points_until(conn, kind, self._freeze, self._values)
        return Ledger(points, worth, self._solvers(conn, kind, worth))

    def _solvers(
        self, conn: Connection, kind: AccountKind, worth: Iterable[int], account_ids: Iterable[int] | None = None
    ) -> dict[int, set[int]]:
        """Who has solved each of the challenges *worth*; of *account_ids* alone where they are given."""
        numbers = tuple(worth)
        if not numbers:
            return {}
        facts: dict[str, Any] = {"challenges": numbers}
        if account_ids is not None:
            facts["accounts"] = tuple(account_ids)
        if self._freeze is not None:
            facts["freeze"] = self._freeze
        rows = _solved(kind, before=self._freeze is not None, some=account_ids is not None)
        found: defaultdict[int, set[int]] = defaultdict(set)
        for challenge_id, account_id in conn.execute(rows, facts):
            found[challenge_id].add(account_id)
        return found

    def grow(self, conn: Connection, news: frozenset[str]) -> bool:
        """Add what the accounts in *news* have by now; False where it can't be added, and all is to be made anew."""
        persons, teams = users_in(news), teams_in(news)
        account_ids = teams if self._people is not None else persons
        if not self._sealed:
            # Of anybody: the values may know a solve already whose news is still to come.
            if self._values or (self._freeze is not None and _solved_since(conn, self._freeze)):
                return False
            worth = _worth_now(conn, self._ledger.following)
            ledgers = [ledger for ledger in (self._ledger, self._people) if ledger is not None]
            if not all(ledger.revalue(worth) for ledger in ledgers):
                return False
        if not self._add(conn, self._ledger, self._kind, self._known, account_ids):
            return False
        if self._people is not None and not self._add(conn, self._people, USERS, self._persons, persons):
            return False
        self.board = self._shown()
        return True

    def _add(
        self, conn: Connection, ledger: Ledger, kind: AccountKind, known: dict[int, Any], account_ids: frozenset[int]
    ) -> bool:
        if not account_ids:
            return True
        solved = self._solvers(conn, kind, ledger.following, account_ids)
        if self._sealed and not ledger.knows(solved):
            return False  # from before the freeze, and stored after others: what was worth what by then is another
        ledger.put(account_ids, points_until(conn, kind, self._freeze, self._values, account_ids), solved)
        unknown = account_ids - known.keys()
        if unknown:
            known.update(accounts_with_points(conn, kind, account_ids=unknown))
        return True

    def _shown(self) -> Board:
        moved = self._ledger.moved()
        if self._people is not None:
            moved |= {self._team_of[user_id] for user_id in self._people.moved() if user_id in self._team_of}
        for account_id in moved:
            self._lines.pop(account_id, None)
        standings = self._placed_anew()
        answer = self._press.make(board_answer((standing.place, self._line(standing)) for standing in standings))
        places = {standing.account_id: standing.place for standing in standings}
        return Board(standings, places, places if self._people is None else self._placed(self._people), answer)

    def _placed(self, people: Ledger) -> dict[int, int]:
        persons = self._persons
        return dict(zip([user_id for user_id in people.order() if user_id in persons], count(1), strict=False))

    def _placed_anew(self) -> tuple[Standing, ...]:
        """The standings; most are what they were."""
        listed = [points for points in self._ledger.ranked() if points.account_id in self._known]
        standings: list[Standing] = []
        for place, points in enumerate(listed, 1):
            before = self._standing.get(points.account_id)
            if before is None or before.score != points.score:
                (before,) = placed((points,), self._known, first=place)
            elif before.place != place:
                before = replace(before, place=place)
            standings.append(before)
        self._standing = {standing.account_id: standing for standing in standings}
        return tuple(standings)

    def _line(self, standing: Standing) -> bytes:
        """The line of an account without its place; it is encoded again when its points have moved."""
        line = self._lines.get(standing.account_id)
        if line is None:
            people, members = self._people, None
            if people is not None:
                team = self._members.get(standing.account_id, ())
                members = [member.shown(people.score(member.id)) for member in team]
            line = self._lines[standing.account_id] = rest_of_line(standing, members, self._kind.word, self._root)
        return line


def grow(conn: Connection, live: LiveBoard, news: frozenset[str]) -> LiveBoard | None:
    """*live* with *news*, or None where it is to be made anew."""
    return live if live.grow(conn, news) else None


@cache
def _solved(kind: AccountKind, *, before: bool, some: bool) -> Select[Any]:
    """Who has solved ``challenges``, *before* ``freeze`` and of *some* ``accounts``. Built once: boards grow often."""
    account = kind.of(solves)
    rows = select(solves.c.challenge_id, account).where(
        solves.c.challenge_id.in_(bindparam("challenges", expanding=True)), account.is_not(None)
    )
    if some:
        rows = rows.where(account.in_(bindparam("accounts", expanding=True)))
    if before:
        rows = rows.join(submissions, submissions.c.id == solves.c.id).where(submissions.c.date < bindparam("freeze"))
    return rows


_STORED: Final = select(challenges.c.id, challenges.c.value).where(
    challenges.c.id.in_(bindparam("challenges", expanding=True))
)


def _worth(conn: Connection, values: Mapping[int, int]) -> dict[int, int]:
    """What the challenges are worth whose value follows the solves."""
    rows = conn.execute(select(challenges.c.id, challenges.c.type, displayed_value(values).label("value"))).all()
    follow = following(conn, {row.id: row.type for row in rows})
    return {row.id: row.value or 0 for row in rows if row.id in follow}


def _worth_now(conn: Connection, known: frozenset[int]) -> dict[int, int]:
    """The same where it is *known* which they are, at the stored values."""
    rows = conn.execute(_STORED, {"challenges": tuple(known)}) if known else ()
    return {row.id: row.value or 0 for row in rows}


_SOLVED_SINCE: Final = (
    select(solves.c.id)
    .join(submissions, submissions.c.id == solves.c.id)
    .where(submissions.c.date >= bindparam("freeze"))
    .limit(1)
)


def _solved_since(conn: Connection, freeze: datetime) -> bool:
    """Whether anybody has solved anything at or after *freeze*."""
    return conn.execute(_SOLVED_SINCE, {"freeze": freeze}).first() is not None


def _members(conn: Connection) -> dict[int, list[Member]]:
    """Every listed member of each team."""
    members: defaultdict[int, list[Member]] = defaultdict(list)
    user = users.c
    for row in conn.execute(
        select(user.id, user.oauth_id, user.name, user.team_id, user.bracket_id, brackets.c.name.label("bracket_name"))
        .outerjoin(brackets, brackets.c.id == user.bracket_id)
        .where(USERS.listed, user.team_id.is_not(None))
        .order_by(user.id)
    ):
        members[row.team_id].append(Member(row.id, row.oauth_id, row.name, row.bracket_id, row.bracket_name))
    return dict(members)
