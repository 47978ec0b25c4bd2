"""CSV files: the tables of CTFd's schema and the reports, by name."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, Final

from sqlalchemy import Connection, Select, Table, case, select

from ctfd_twisted.archive.progress import Progress
from ctfd_twisted.archive.reports import REPORTS, Cells, Report
from ctfd_twisted.archive.rules import cell, harmless
from ctfd_twisted.archive.store import as_ctfd_has_it, ctfd_tables, pages
from ctfd_twisted.challenges.tables import challenges, dynamic_challenge
from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.competition.store import read_competition
from ctfd_twisted.scoring.tables import solves, submissions

#: Tables in which players write.
_PLAYERS: Final = frozenset({"users", "teams", "submissions", "solves", "field_entries", "ratings", "tokens"})


def sheet_names() -> tuple[list[str], list[str]]:
    """The names of all reports, and of all tables."""
    return list(REPORTS), [table.name for table in ctfd_tables()]


def find_sheet(name: str) -> Report | None:
    """The rows of the report or table called *name*."""
    if name in REPORTS:
        return REPORTS[name]
    return next((_of_table(table) for table in ctfd_tables() if table.name == name), None)


def write_sheet(conn: Connection, name: str, file: BinaryIO, progress: Progress) -> None:
    """Write the CSV file called *name*, one that :func:`find_sheet` knows, into *file*. Raises ``Abandoned``.

    It may be called again for the same *file*, in which it then begins anew.
    """
    file.seek(0)
    file.truncate()
    report = find_sheet(name)
    assert report is not None  # noqa: S101 - whoever asks has looked before
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    form: Callable[[object], object] = harmless if name in REPORTS or name in _PLAYERS else cell
    try:
        writer = csv.writer(text)
        rows = report(conn, read_competition(conn))
        writer.writerow(next(rows))
        for row in rows:
            writer.writerow(map(form, row))
            progress.advance(1)
    finally:
        text.detach()
    file.flush()


def _of_table(table: Table) -> Report:
    def rows(conn: Connection, competition: Competition) -> Iterator[Cells]:
        del competition
        statement = _rows_of(table)
        yield [column.name for column in statement.selected_columns]
        for page in pages(conn, statement):
            yield from (list(row.values()) for row in page)

    return rows


def _rows_of(table: Table) -> Select[Any]:
    if table is solves:
        # What a solve shares with its submission stands in both; CTFd's order has those columns first.
        solve, submission = solves.c, submissions.c
        shared = (solve.challenge_id, solve.user_id, solve.team_id, solve.id)
        more = (submission.ip, submission.provided, submission.type, submission.date)
        return select(*shared, *more).join(submissions, submission.id == solve.id).order_by(solve.id)
    if table is challenges:
        return select(*_with_decay()).outerjoin(dynamic_challenge, _SAME).order_by(challenges.c.id)
    if table is dynamic_challenge:
        own = [column for column in dynamic_challenge.c if column.name != "id"]
        return select(*_with_decay(), *own).join(dynamic_challenge, _SAME).order_by(challenges.c.id)
    return as_ctfd_has_it(table)


_SAME: Final = dynamic_challenge.c.id == challenges.c.id


def _with_decay() -> list[Any]:
    """The columns of a challenge; of a dynamic one, what its value follows stands in a table of its own."""
    moved = {
        name: case((challenges.c.type == "dynamic", dynamic_challenge.c[f"dynamic_{name}"]), else_=challenges.c[name])
        for name in ("initial", "minimum", "decay", "function")
    }
    return [moved[column.name].label(column.name) if column.name in moved else column for column in challenges.c]
