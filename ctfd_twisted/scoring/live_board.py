"""The public board, kept in memory and brought up to date with each solve and award (record 80)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from functools import cached_property
from itertools import count
from typing import Any, Protocol

from sqlalchemy import Connection, select

from ctfd_twisted.accounts.tables import brackets, users
from ctfd_twisted.challenges.tables import challenges
from ctfd_twisted.competition.store import read_competition
from ctfd_twisted.db.alone import alone
from ctfd_twisted.http.shared import Press, Shared
from ctfd_twisted.scoring.accounts import USERS, AccountKind, account_kind
from ctfd_twisted.scoring.growth import Asked, read_growth, read_seen
from ctfd_twisted.scoring.ledger import Key, Ledger
from ctfd_twisted.scoring.lines import Form, Line, Member, Places
from ctfd_twisted.scoring.news import challenges_in, rosters_in, teams_in, users_in
from ctfd_twisted.scoring.store import Standing, accounts_with_points, displayed_value, points_until, standing_of
from ctfd_twisted.scoring.tables import solves, submissions
from ctfd_twisted.scoring.values import following, frozen_values

Ids = AbstractSet[int]


class Board:
    """The board at one moment; ``answer`` is that of ``GET /api/v1/scoreboard``. Equal to itself alone.

    :param order: where each account stands that is on the board, and
    :param people: the same of users where teams play as well, in which those who are on no board may be; else None.
    :param known: the accounts on the board by id; *persons* the users. More may come to both.
    :param worth: what the challenges are worth whose value follows their solves.
    :param freeze: what came from then on is not on the board.
    """

    def __init__(
        self,
        order: Sequence[Key],
        known: Mapping[int, Any],
        people: Sequence[Key] | None,
        persons: Mapping[int, Any],
        worth: Mapping[int, int],
        answer: Shared,
        kind: AccountKind,
        freeze: datetime | None,
    ) -> None:
        self.kind = kind
        self.freeze = freeze
        self._order = order
        self._known = known
        self._people = people
        self._persons = persons
        self.worth = worth
        self.answer = answer

    # What follows is made when somebody asks for it: while answers pour in most boards are only sent.

    @cached_property
    def standings(self) -> tuple[Standing, ...]:
        """Everybody on the board, first place first."""
        return self.first(len(self._order))

    def first(self, count: int) -> tuple[Standing, ...]:
        """The first *count* of them."""
        known = self._known
        return tuple(standing_of(place, known[key[3]], -key[0]) for place, key in enumerate(self._order[:count], 1))

    @cached_property
    def places(self) -> Mapping[int, int]:
        """The place of each account, by id."""
        return {key[3]: place for place, key in enumerate(self._order, 1)}

    @cached_property
    def people(self) -> Mapping[int, int]:
        """The place of each user among users, also where teams play."""
        if self._people is None:
            return self.places
        persons = self._persons
        return dict(zip([key[3] for key in self._people if key[3] in persons], count(1), strict=False))


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
        self._sealed = self._freeze is not None and solved_since(conn, self._freeze)
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
        self._members: dict[int, list[Member]] = {}
        self._team_of: dict[int, int] = {}
        self._forms: dict[int, Form] = {}
        self._lines: dict[int, Line] = {}
        if competition.teams:
            self._meet(conn)
        self._places = Places()
        self.board = self._shown()

    def _added_up(self, conn: Connection, kind: AccountKind, worth: Mapping[int, int]) -> Ledger:
        points = points_until(conn, kind, self._freeze, self._values)
        return Ledger(points, worth, read_solvers(conn, kind, worth, self._freeze), read_seen(conn, kind))

    def grow(self, conn: Connection, news: frozenset[str]) -> bool:
        """Add what the accounts in *news* have by now; False where it can't be added, and all is to be made anew."""
        persons, teams = users_in(news), teams_in(news)
        accounts = persons if self._people is None else teams
        if self._sealed:
            grown = self._put(conn, self._ledger, self._kind, accounts) and (
                self._people is None or self._put(conn, self._people, USERS, persons)
            )
        else:
            grown = not self._values and self._added(conn, accounts, persons, challenges_in(news))
        if not grown:
            return False
        _learn(conn, self._kind, self._known, accounts)
        if self._people is not None:
            _learn(conn, USERS, self._persons, persons)
            self._meet(conn, rosters_in(news))
        self.board = self._shown()
        return True

    def _meet(self, conn: Connection, team_ids: Ids | None = None) -> None:
        """Read who is in the teams, or in those of *team_ids*, which somebody has joined."""
        if team_ids is not None and not team_ids:
            return
        met = _members(conn, team_ids)
        self._members |= met
        self._team_of |= {member.id: team_id for team_id, members in met.items() for member in members}
        for team_id in met:
            self._forms.pop(team_id, None)
            self._lines.pop(team_id, None)

    def _added(self, conn: Connection, accounts: Ids, persons: Ids, challenge_ids: Ids) -> bool:
        people = self._people
        asked = Asked(
            self._kind,
            {account_id: self._ledger.seen(account_id) for account_id in accounts},
            None if people is None else {user_id: people.seen(user_id) for user_id in persons},
            challenge_ids & self._ledger.worth.keys(),
            self._freeze,
        )
        with alone(conn):
            found = read_growth(conn, asked)
        # Of anybody: what is solved after the freeze moves no value that is shown.
        if found.since:
            return False
        for ledger, gained in ((self._ledger, found.accounts), (people, found.persons)):
            if ledger is None:
                continue
            if not ledger.revalue(found.worth):
                return False
            if not all(ledger.add(account_id, gains, self._freeze) for account_id, gains in gained.items()):
                return False
        return True

    def _put(self, conn: Connection, ledger: Ledger, kind: AccountKind, account_ids: Ids) -> bool:
        """The same since values stand still: what accounts have before the freeze is read anew."""
        if not ledger.knows(read_solvers(conn, kind, ledger.worth, self._freeze, account_ids)):
            return False  # from before the freeze, and stored after others: what was worth what by then is another
        ledger.put(account_ids, points_until(conn, kind, self._freeze, self._values, account_ids))
        return True

    def _shown(self) -> Board:
        lines, known = self._lines, self._known
        for account_id in self._moved():
            lines.pop(account_id, None)
        order = [key for key in self._ledger.order() if key[3] in known]
        shown = [lines.get(key[3]) or self._line(key[3]) for key in order]
        answer = self._press.make(
            self._places.body([line.rest for line in shown]), b"".join([line.mark for line in shown])
        )
        people = None if self._people is None else self._people.order()
        return Board(order, known, people, self._persons, self._ledger.worth, answer, self._kind, self._freeze)

    def _moved(self) -> AbstractSet[int]:
        """The accounts whose lines are others now."""
        moved = self._ledger.moved()
        if self._people is None:
            return moved
        team_of = self._team_of
        return moved.union(team_of[user_id] for user_id in self._people.moved() if user_id in team_of)

    def _line(self, account_id: int) -> Line:
        form = self._forms.get(account_id)
        if form is None:
            members = None if self._people is None else self._members.get(account_id, ())
            form = Form(self._known[account_id], members, self._kind.word, self._root)
            self._forms[account_id] = form
        people = self._people
        scores = () if people is None else map(people.score, form.members)
        line = self._lines[account_id] = form.line(self._ledger.score(account_id), *scores)
        return line


def grow(conn: Connection, live: LiveBoard, news: frozenset[str]) -> LiveBoard | None:
    """*live* with *news*, or None where it is to be made anew."""
    return live if live.grow(conn, news) else None


def _learn(conn: Connection, kind: AccountKind, known: dict[int, Any], account_ids: Ids) -> None:
    """Add to *known* who is on the board for the first time."""
    unknown = account_ids - known.keys()
    if unknown:
        known.update(accounts_with_points(conn, kind, account_ids=unknown))


def read_solvers(
    conn: Connection,
    kind: AccountKind,
    following: Collection[int],
    freeze: datetime | None,
    account_ids: Ids | None = None,
) -> dict[int, set[int]]:
    """Who has solved each of the challenges *following* before *freeze*; of *account_ids* where they are given."""
    account = kind.of(solves)
    solvers = select(solves.c.challenge_id, account).where(
        solves.c.challenge_id.in_(tuple(following)), account.is_not(None)
    )
    if account_ids is not None:
        solvers = solvers.where(account.in_(tuple(account_ids)))
    if freeze is not None:
        solvers = solvers.join(submissions, submissions.c.id == solves.c.id).where(submissions.c.date < freeze)
    found: defaultdict[int, set[int]] = defaultdict(set)
    for challenge_id, account_id in conn.execute(solvers):
        found[challenge_id].add(account_id)
    return found


def solved_since(conn: Connection, freeze: datetime) -> bool:
    """Whether anybody has solved anything at or after *freeze*."""
    late = select(solves.c.id).join(submissions, submissions.c.id == solves.c.id).where(submissions.c.date >= freeze)
    return conn.execute(late.limit(1)).first() is not None


def _worth(conn: Connection, values: Mapping[int, int]) -> dict[int, int]:
    """What the challenges are worth whose value follows the solves."""
    rows = conn.execute(select(challenges.c.id, challenges.c.type, displayed_value(values).label("value"))).all()
    follow = following(conn, {row.id: row.type for row in rows})
    return {row.id: row.value or 0 for row in rows if row.id in follow}


def _members(conn: Connection, team_ids: Ids | None = None) -> dict[int, list[Member]]:
    """Every listed member of each team, or of those of *team_ids*."""
    members: defaultdict[int, list[Member]] = defaultdict(list)
    user = users.c
    rows = (
        select(user.id, user.oauth_id, user.name, user.team_id, user.bracket_id, brackets.c.name.label("bracket_name"))
        .outerjoin(brackets, brackets.c.id == user.bracket_id)
        .where(USERS.listed, user.team_id.is_not(None))
        .order_by(user.id)
    )
    if team_ids is not None:
        rows = rows.where(user.team_id.in_(tuple(team_ids)))
    for row in conn.execute(rows):
        members[row.team_id].append(Member(row.id, row.oauth_id, row.name, row.bracket_id, row.bracket_name))
    return dict(members)
