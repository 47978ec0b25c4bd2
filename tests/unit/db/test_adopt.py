"""What is recognised in a database, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import Connection, create_engine, text

from ctfd_twisted.db.adopt import CTFD_REVISIONS, CannotMigrate, Found, recognise

CORE = ("users", "teams", "challenges", "submissions", "solves", "config")


@pytest.fixture
def bare() -> Iterator[Connection]:
    """A connection to a database without tables."""
    engine = create_engine("sqlite://")
    with engine.connect() as connection:
        yield connection
    engine.dispose()


def ctfd(conn: Connection, revision: str | None) -> None:
    """Make what tells CTFd's database from others."""
    conn.execute(text("CREATE TABLE alembic_version (version_num VARCHAR(32))"))
    if revision is not None:
        conn.execute(text("INSERT INTO alembic_version VALUES (:revision)"), {"revision": revision})
    for table in CORE:
        conn.execute(text(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY)"))


def test_a_database_without_tables_is_empty(bare: Connection) -> None:
    assert recognise(bare) == Found("empty", None)


@pytest.mark.parametrize("revision", [*CTFD_REVISIONS, None])
def test_on_sqlite_ctfds_database_is_adopted_at_every_revision_of_2_and_3(
    bare: Connection, revision: str | None
) -> None:
    ctfd(bare, revision)
    assert recognise(bare) == Found("ctfd", revision)


def test_tables_of_plugins_are_no_obstacle(bare: Connection) -> None:
    ctfd(bare, CTFD_REVISIONS[-1])
    bare.execute(text("CREATE TABLE first_bloods (id INTEGER)"))
    assert recognise(bare).kind == "ctfd"


def test_our_own_version_says_that_the_database_is_ours(bare: Connection) -> None:
    ctfd(bare, "unknown")
    bare.execute(text("CREATE TABLE ctfp_version (version_num VARCHAR(32))"))
    bare.execute(text("INSERT INTO ctfp_version VALUES ('0001')"))
    assert recognise(bare) == Found("ours", "0001")


def test_ctfd_1_is_refused(bare: Connection) -> None:
    bare.execute(text("CREATE TABLE alembic_version (version_num VARCHAR(32))"))
    bare.execute(text("INSERT INTO alembic_version VALUES ('cb3cfcc47e2f')"))
    with pytest.raises(CannotMigrate, match=r"^The database is CTFd 1's \(revision cb3cfcc47e2f\)"):
        recognise(bare)


def test_a_newer_ctfd_is_refused(bare: Connection) -> None:
    ctfd(bare, "feedfacecafe")
    with pytest.raises(CannotMigrate, match=r"^The database is at revision feedfacecafe, which CTFd 3\.8\.7"):
        recognise(bare)


def test_tables_of_another_program_are_named_and_refused(bare: Connection) -> None:
    for table in ("users", "auth_group", "django_session", "posts", "tags", "votes"):
        bare.execute(text(f"CREATE TABLE {table} (id INTEGER)"))
    with pytest.raises(CannotMigrate, match=r"not CTFd's \(auth_group, django_session, posts, tags, users\)"):
        recognise(bare)
