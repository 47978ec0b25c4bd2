"""Boards, and accounts with what they answered, as rows for spreadsheets (contract: archive, section 4)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, Row, Table, select

from ctfd_twisted.accounts.fields import Field, defined_fields, entries_of
from ctfd_twisted.accounts.records import Owner
from ctfd_twisted.accounts.tables import brackets, teams, users
from ctfd_twisted.archive.store import PAGE, pages
from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.scoring.accounts import USERS
from ctfd_twisted.scoring.store import Standing, points_of, standings

Cells = Sequence[object]
#: The rows of a report, its header first.
Report = Callable[[Connection, Competition], Iterator[Cells]]

_USERS_BOARD: Final = ("place", "user name", "user id", "user email", "score", "user bracket id", "user bracket name")
_TEAMS_BOARD: Final = (
    *("place", "team", "team id", "score", "member name", "member id", "member email", "member score"),
    *("team bracket id", "team bracket name", "member bracket id", "member bracket name"),
)
_MEMBER: Final = ("id", "name", "email", "password")
_OF_TEAM: Final = ("team_id", "team_name", "team_email", "team_password", "team_captain")


class Answers(NamedTuple):
    """What some accounts answered to the fields that all of their kind are asked."""

    fields: Sequence[Field]
    given: Mapping[int, Mapping[int, Any]]

    def of(self, account_id: int | None) -> list[object]:
        """A cell for each field, empty where nothing was answered."""
        mine = {} if account_id is None else self.given.get(account_id, {})
        return [mine.get(field.id) for field in self.fields]


def _answers(conn: Connection, owner: Owner, ids: Sequence[int]) -> Answers:
    entries = entries_of(conn, owner, ids)
    given = {who: {entry.field_id: entry.value for entry in theirs} for who, theirs in entries.items()}
    return Answers(defined_fields(conn, owner), given)


def _asked(conn: Connection, owner: Owner) -> list[str]:
    return [field.name for field in defined_fields(conn, owner)]


def public_board(conn: Connection, competition: Competition) -> Iterator[Cells]:
    """The board as everybody may know it: up to the freeze, without the hidden and the banned."""
    return _board(conn, competition, everyone=False)


def full_board(conn: Connection, competition: Competition) -> Iterator[Cells]:
    """The board with everybody, as it is now."""
    return _board(conn, competition, everyone=True)


def _board(conn: Connection, competition: Competition, *, everyone: bool) -> Iterator[Cells]:
    board = standings(conn, competition, everyone=everyone)
    if not competition.teams:
        yield [*_USERS_BOARD, *_asked(conn, "user")]
        for page in _cut(board):
            yield from _users_on_board(conn, page)
        return
    points = points_of(conn, competition, USERS, frozen=not everyone)
    scores = {entry.account_id: entry.score for entry in points}
    yield [*_TEAMS_BOARD, *_asked(conn, "user"), *_asked(conn, "team")]
    for page in _cut(board):
        yield from _teams_on_board(conn, page, scores)


def _users_on_board(conn: Connection, board: Sequence[Standing]) -> Iterator[Cells]:
    ids = [row.account_id for row in board]
    found = conn.execute(select(users.c.id, users.c.email).where(users.c.id.in_(ids)))
    emails = {row.id: row.email for row in found}
    answers = _answers(conn, "user", ids)
    for row in board:
        who = row.account_id
        known = (row.place, row.name, who, emails[who], row.score, row.bracket_id, row.bracket_name)
        yield [*known, *answers.of(who)]


def _teams_on_board(conn: Connection, board: Sequence[Standing], scores: Mapping[int, int]) -> Iterator[Cells]:
    members = _members(conn, [row.account_id for row in board])
    of_teams = _answers(conn, "team", list(members))
    of_users = _answers(conn, "user", [member.id for theirs in members.values() for member in theirs])
    for row in board:
        yield [
            *(row.place, row.name, row.account_id, row.score, None, None, None, None),
            *(row.bracket_id, row.bracket_name, None, None),
            *of_users.of(None),
            *of_teams.of(row.account_id),
        ]
        for member in members[row.account_id]:
            yield [
                *(None, None, None, None, member.name, member.id, member.email, scores.get(member.id, 0)),
                *(None, None, member.bracket_id, member.bracket_name),
                *of_users.of(member.id),
                *of_teams.of(None),
            ]


def _members(conn: Connection, ids: Sequence[int]) -> dict[int, list[Row[Any]]]:
    """Everybody in each of these teams, also the hidden and the banned: they are paid for the team's place as well."""
    members: dict[int, list[Row[Any]]] = {team_id: [] for team_id in ids}
    found = (
        select(users, brackets.c.name.label("bracket_name"))
        .outerjoin(brackets, brackets.c.id == users.c.bracket_id)
        .where(users.c.team_id.in_(ids))
        .order_by(users.c.id)
    )
    for row in conn.execute(found):
        members[row.team_id].append(row)
    return members


def users_with_fields(conn: Connection, competition: Competition) -> Iterator[Cells]:
    """Every user with all that is stored about them."""
    del competition
    return _accounts(conn, users, "user")


def teams_with_fields(conn: Connection, competition: Competition) -> Iterator[Cells]:
    """Every team with all that is stored about it."""
    del competition
    return _accounts(conn, teams, "team")


def _accounts(conn: Connection, table: Table, owner: Owner) -> Iterator[Cells]:
    yield [*table.c.keys(), *_asked(conn, owner)]
    for page in pages(conn, select(table).order_by(table.c.id)):
        answers = _answers(conn, owner, [row["id"] for row in page])
        for row in page:
            yield [*row.values(), *answers.of(row["id"])]


def users_with_teams(conn: Connection, competition: Competition) -> Iterator[Cells]:
    """Every user, with their team where they have one."""
    del competition
    yield [*_MEMBER, *_asked(conn, "user"), *_OF_TEAM, *_asked(conn, "team")]
    columns = [users.c[name] for name in _MEMBER]
    team = teams.c
    found = (
        select(*columns, team.id.label("team"), team.name.label("team_name"), team.email.label("team_email"),
               team.password.label("team_password"), team.captain_id)
        .outerjoin(teams, team.id == users.c.team_id)
        .order_by(users.c.id)
    )  # fmt: skip
    for page in pages(conn, found):
        of_users = _answers(conn, "user", [row["id"] for row in page])
        of_teams = _answers(conn, "team", [row["team"] for row in page if row["team"] is not None])
        for row in page:
            captain = None if row["team"] is None else row["captain_id"] == row["id"]
            yield [
                *(row[name] for name in _MEMBER),
                *of_users.of(row["id"]),
                *(row["team"], row["team_name"], row["team_email"], row["team_password"], captain),
                *of_teams.of(row["team"]),
            ]


def teams_with_members(conn: Connection, competition: Competition) -> Iterator[Cells]:
    """Every team, each followed by its members."""
    del competition
    of_members = [*(f"member_{column.name}" for column in users.c), *_asked(conn, "user")]
    of_team = [*teams.c.keys(), *_asked(conn, "team")]
    yield [*of_team, *of_members]
    for page in pages(conn, select(teams).order_by(teams.c.id)):
        members = _members(conn, [row["id"] for row in page])
        of_teams = _answers(conn, "team", list(members))
        of_users = _answers(conn, "user", [member.id for theirs in members.values() for member in theirs])
        for row in page:
            yield [*row.values(), *of_teams.of(row["id"]), *(None for _ in of_members)]
            for member in members[row["id"]]:
                known = [getattr(member, column.name) for column in users.c]
                yield [*(None for _ in of_team), *known, *of_users.of(member.id)]


def _cut(board: Sequence[Standing]) -> Iterable[Sequence[Standing]]:
    return (board[first : first + PAGE] for first in range(0, len(board), PAGE))


#: Every report by its name.
REPORTS: Final[Mapping[str, Report]] = {
    "scoreboard": public_board,
    "scoreboard-admin": full_board,
    "users+fields": users_with_fields,
    "teams+fields": teams_with_fields,
    "users+teams+fields": users_with_teams,
    "teams+members+fields": teams_with_members,
}
