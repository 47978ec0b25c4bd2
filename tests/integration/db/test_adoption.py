"""A database that CTFd wrote is adopted as it is: nothing of CTFd's changes, and the scores are CTFd's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, Engine, Select, create_engine, false, func, inspect, select, text, union_all

from ctfd_twisted.accounts.tables import teams, users
from ctfd_twisted.challenges.tables import challenges, dynamic_challenge
from ctfd_twisted.db.migrate import MigrationReport, migrate
from ctfd_twisted.schema import metadata
from ctfd_twisted.scoring.tables import awards, solves, submissions

Describe = Callable[[Connection], dict[str, dict[str, Any]]]
Contents = dict[str, list[dict[str, Any]]]


@pytest.fixture
def engine(ctfd_event: Any) -> Iterator[Engine]:
    """An engine on each of CTFd's databases, without anything that our own connections do."""
    opened = create_engine(ctfd_event.url)
    yield opened
    opened.dispose()


def contents(conn: Connection, tables: list[str]) -> Contents:
    """Every row of *tables*, as the driver gives it."""
    return {
        table: [dict(row) for row in conn.execute(text(f"SELECT * FROM {table} ORDER BY 1")).mappings()]  # noqa: S608 - a name from the database
        for table in tables
    }


def test_no_row_and_no_column_of_ctfds_changes(engine: Engine, described: Describe) -> None:
    with engine.connect() as conn:
        tables = inspect(conn).get_table_names()
        rows, schema = contents(conn, tables), described(conn)
    migrate(engine)
    with engine.connect() as conn:
        after = described(conn)
        assert contents(conn, tables) == rows
    for table in tables:
        assert schema[table].pop("indexes") == []  # CTFd has none
        assert all(name.startswith("ctfp_ix_") for name, _, _ in after[table].pop("indexes"))
        assert after[table] == schema[table]
    assert all(name.startswith("ctfp_") for name in after if name not in tables)


def test_what_was_done_is_reported(engine: Engine) -> None:
    report = migrate(engine)
    assert (report.found, report.from_revision, report.to_revision) == ("ctfd", "8275865e5992", "0001")
    assert {name.split()[0] for name in report.added} == {"table", "index"}
    assert migrate(engine) == MigrationReport("ours", "0001", "0001", ())


def test_alembic_finds_nothing_to_change_in_an_adopted_database(engine: Engine) -> None:
    migrate(engine)
    # Without server defaults: databases that CTFd migrated have two, those that it made at once have none.
    options = {"compare_type": True, "compare_server_default": False, "version_table": "ctfp_version"}
    with engine.connect() as conn:
        assert compare_metadata(MigrationContext.configure(conn, opts=options), metadata) == []


def test_our_tables_read_every_row(engine: Engine) -> None:
    migrate(engine)
    with engine.connect() as conn:
        for table in metadata.tables.values():
            counted = conn.execute(select(func.count()).select_from(table)).scalar_one()
            assert len(conn.execute(select(table)).all()) == counted


def test_new_rows_get_ids_after_ctfds(engine: Engine) -> None:
    migrate(engine)
    with engine.begin() as conn:
        last = conn.execute(select(func.max(users.c.id))).scalar_one()
        assert conn.execute(users.insert().values(name="late")).inserted_primary_key == (last + 1,)


def standings(mode: str) -> Select[str, int]:
    """Name and score of every account that is seen, as the contract's page on scoring says it."""
    accounts, column = (teams, "team_id") if mode == "teams" else (users, "user_id")
    points = union_all(
        select(solves.c[column].label("account"), challenges.c.value.label("value"), solves.c.id, submissions.c.date)
        .join(submissions, submissions.c.id == solves.c.id)
        .join(challenges, challenges.c.id == solves.c.challenge_id)
        .where(challenges.c.value != 0),
        select(awards.c[column], awards.c.value, awards.c.id, awards.c.date).where(awards.c.value != 0),
    ).subquery()
    score = func.sum(points.c.value)
    return (
        select(accounts.c.name, score)
        .join(points, points.c.account == accounts.c.id)
        .where(accounts.c.hidden == false(), accounts.c.banned == false())
        .group_by(accounts.c.id, accounts.c.name)
        .order_by(score.desc(), func.max(points.c.date), func.max(points.c.id))
    )


def solve_counts(mode: str) -> Select[int, int]:
    """Id and number of solves by accounts that are seen, of every challenge that has any."""
    accounts, column = (teams, "team_id") if mode == "teams" else (users, "user_id")
    return (
        select(solves.c.challenge_id, func.count())
        .join(accounts, accounts.c.id == solves.c[column])
        .where(accounts.c.hidden == false(), accounts.c.banned == false())
        .group_by(solves.c.challenge_id)
    )


def test_the_standings_are_those_that_ctfd_showed(engine: Engine, ctfd_event: Any) -> None:
    migrate(engine)
    with engine.connect() as conn:
        rows = conn.execute(standings(ctfd_event.mode)).all()
    assert [[place, row[0], int(row[1])] for place, row in enumerate(rows, 1)] == ctfd_event.scoreboard


def test_values_and_solves_are_those_that_ctfds_admin_saw(engine: Engine, ctfd_event: Any) -> None:
    migrate(engine)
    with engine.connect() as conn:
        values = {row.id: row.value for row in conn.execute(select(challenges.c.id, challenges.c.value))}
        counted = {row[0]: row[1] for row in conn.execute(solve_counts(ctfd_event.mode))}
    assert ctfd_event.values.items() <= values.items()
    assert {number: counted.get(number, 0) for number in ctfd_event.solves} == ctfd_event.solves


def test_the_decay_of_dynamic_challenges_is_where_ctfd_keeps_it(engine: Engine) -> None:
    migrate(engine)
    with engine.connect() as conn:
        kinds = select(challenges.c.id).where(challenges.c.type == "dynamic")
        dynamic = conn.execute(select(dynamic_challenge)).all()
        assert {row.id for row in dynamic} == set(conn.execute(kinds).scalars())
        assert {row.dynamic_function for row in dynamic} <= {"linear", "logarithmic"}
