"""What a board that grows asks for: what has come since, of the few accounts that have anything new.

For one solve it is one statement, and that reads next to nothing: the rows behind those that are known already, and how
many rows there are by now. Where the new ones do not make up the difference, one was taken away, or came late and lies
before others; then the board is made from nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from functools import cache
from itertools import zip_longest
from typing import Any, Final

import msgspec
from sqlalchemy import Connection, Integer, ScalarSelect, Select, bindparam, func, null, select, union_all
from sqlalchemy.sql.expression import literal_column

from ctfd_twisted.challenges.tables import challenges
from ctfd_twisted.db.ready import Ready
from ctfd_twisted.scoring.accounts import USERS, AccountKind
from ctfd_twisted.scoring.gains import Gained, Row, Seen
from ctfd_twisted.scoring.tables import awards, solves, submissions

#: What a row of the answer is: who it is about, or one of the last two.
_ACCOUNT, _PERSON, _WORTH, _SINCE = range(4)
#: Of what: a solve, an award, or how many of both there are.
_SOLVE, _AWARD, _COUNTS = range(3)
#: An id that nothing has.
_NOBODY: Final = -1


class Asked(msgspec.Struct, frozen=True):
    """Who may have something new, with what is known of them: *accounts*, and *persons*, None where no teams play.

    *challenges* are those that were solved. Only what was there before *freeze* counts.
    """

    kind: AccountKind
    accounts: Mapping[int, Seen]
    persons: Mapping[int, Seen] | None
    challenges: Collection[int]
    freeze: datetime | None


class Found(msgspec.Struct, frozen=True):
    """What each of those who were asked for has gained, and what the challenges are *worth* that were solved.

    *since* is whether somebody has solved something after the freeze.
    """

    accounts: dict[int, Gained]
    persons: dict[int, Gained]
    worth: dict[int, int]
    since: bool


def read_growth(conn: Connection, asked: Asked) -> Found:
    """What is *asked*: a statement for each account, which may see states of their own."""
    persons = asked.persons or {}
    statement = _growth(asked.kind, persons=asked.persons is not None, freeze=asked.freeze is not None)
    found = Found({}, {}, {}, since=False)
    since = False
    for account, person, challenge in zip_longest(asked.accounts, persons, asked.challenges, fillvalue=_NOBODY):
        facts = _facts("account", account, asked.accounts.get(account, _UNSEEN))
        facts["challenge"] = challenge
        if asked.persons is not None:
            facts |= _facts("person", person, persons.get(person, _UNSEEN))
        if asked.freeze is not None:
            facts["freeze"] = asked.freeze
        rows = statement.all(conn, facts)
        for row in rows:
            if row.who == _WORTH:
                found.worth[row.id] = row.value
            elif row.who == _SINCE:
                since = True
            elif row.challenge_id is not None and row.what == _SOLVE:
                found.worth[row.challenge_id] = row.value
        if account != _NOBODY:
            found.accounts[account] = _gained(rows, _ACCOUNT, asked.accounts[account])
        if person != _NOBODY:
            found.persons[person] = _gained(rows, _PERSON, persons[person])
    return msgspec.structs.replace(found, since=since)


def read_seen(conn: Connection, kind: AccountKind) -> dict[int, Seen]:
    """What there is of every account."""
    seen: dict[int, Seen] = {}
    for table in (solves, awards):
        account = kind.of(table)
        counted = select(account.label("account"), func.count().label("rows"), func.max(table.c.id).label("last"))
        for row in conn.execute(counted.where(account.is_not(None)).group_by(account)):
            known = seen.get(row.account, _UNSEEN)
            counts = {"solves": row.rows, "last_solve": row.last} if table is solves else {}
            seen[row.account] = known._replace(**(counts or {"awards": row.rows, "last_award": row.last}))
    return seen


_UNSEEN: Final = Seen()


def _facts(who: str, number: int, seen: Seen) -> dict[str, Any]:
    return {who: number, f"{who}_solves": seen.last_solve, f"{who}_awards": seen.last_award}


def _gained(rows: list[Any], who: int, seen: Seen) -> Gained:
    new = [Row(row.id, row.challenge_id, row.value, row.date) for row in rows if row.who == who and row.what != _COUNTS]
    solved = [row.id for row in rows if row.who == who and row.what == _SOLVE]
    given = [row.id for row in rows if row.who == who and row.what == _AWARD]
    (counts,) = (row for row in rows if row.who == who and row.what == _COUNTS)
    if (seen.solves + len(solved), seen.awards + len(given)) != (counts.id, counts.value):
        return Gained(new, None)
    return Gained(
        new, Seen(counts.id, max(solved, default=seen.last_solve), counts.value, max(given, default=seen.last_award))
    )


@cache
def _growth(kind: AccountKind, *, persons: bool, freeze: bool) -> Ready:
    parts = _news_of(kind, _ACCOUNT, "account")
    if persons:
        parts += _news_of(USERS, _PERSON, "person")
    value = func.coalesce(challenges.c.value, 0)
    solved = select(*_of(_WORTH, _SOLVE), challenges.c.id, null(), value, null())
    parts.append(solved.where(challenges.c.id == bindparam("challenge")))
    if freeze:
        since = select(solves.c.id).join(submissions, submissions.c.id == solves.c.id)
        late = since.where(submissions.c.date >= bindparam("freeze")).exists()
        parts.append(select(*_of(_SINCE, _SOLVE), null(), null(), null(), null()).where(late))
    return Ready(union_all(*parts))


def _news_of(kind: AccountKind, who: int, name: str) -> list[Select[Any]]:
    whose = bindparam(name, type_=Integer)
    solved, given = (kind.of(table) == whose for table in (solves, awards))
    from_solves = (
        select(
            *_of(who, _SOLVE),
            solves.c.id.label("id"),
            solves.c.challenge_id.label("challenge_id"),
            func.coalesce(challenges.c.value, 0).label("value"),
            submissions.c.date.label("date"),
        )
        .join_from(solves, submissions, submissions.c.id == solves.c.id)
        .outerjoin(challenges, challenges.c.id == solves.c.challenge_id)
        .where(solved, solves.c.id > _behind(f"{name}_solves"))
    )
    from_awards = select(*_of(who, _AWARD), awards.c.id, null(), func.coalesce(awards.c.value, 0), awards.c.date).where(
        given, awards.c.id > _behind(f"{name}_awards")
    )
    counts = [
        select(func.count()).select_from(table).where(mine).scalar_subquery()
        for table, mine in ((solves, solved), (awards, given))
    ]
    return [from_solves, from_awards, select(*_of(who, _COUNTS), counts[0], null(), counts[1], null())]


def _of(who: int, what: int) -> list[Any]:
    return [literal_column(str(who), Integer).label("who"), literal_column(str(what), Integer).label("what")]


def _behind(name: str) -> ScalarSelect[Any]:
    # PostgreSQL plans a statement anew each time, which costs more than running it, where values promise a cheaper plan
    # than it has for any values; it does not look into this.
    return select(bindparam(name, type_=Integer)).scalar_subquery()
