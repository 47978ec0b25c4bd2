"""What a migration reports, on SQLite in memory."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, text

from ctfd_twisted.db.adopt import CannotMigrate
from ctfd_twisted.db.engine import open_engines
from ctfd_twisted.db.migrate import HEAD, MigrationReport, alembic_config, migrate


@pytest.fixture
def engine() -> Iterator[Engine]:
    """An SQLite in memory without tables."""
    engines = open_engines("sqlite://")
    yield engines.write_engine
    engines.close()


def test_an_empty_database_gets_the_schema(engine: Engine) -> None:
    report = migrate(engine)
    assert (report.found, report.from_revision, report.to_revision) == ("empty", None, "0001")
    assert {"table users", "table alembic_version", "table ctfp_leases", "table ctfp_version"} <= set(report.added)
    assert str(report) == f"Created the schema, revision 0001: {len(report.added)} tables"


def test_a_second_migration_finds_nothing_to_do(engine: Engine) -> None:
    migrate(engine)
    assert migrate(engine) == MigrationReport("ours", "0001", "0001", ())
    assert str(migrate(engine)) == "The schema is at revision 0001 already"


def test_a_schema_that_is_newer_than_this_program_is_refused(engine: Engine) -> None:
    migrate(engine)
    with engine.begin() as conn:
        conn.execute(text("UPDATE ctfp_version SET version_num = '9999'"))
    with pytest.raises(CannotMigrate, match="revision 9999, which this version of the platform does not know"):
        migrate(engine)


def test_foreign_keys_are_enforced_again_afterwards(engine: Engine) -> None:
    migrate(engine)
    with engine.connect() as conn:
        assert conn.exec_driver_sql("PRAGMA foreign_keys").scalar_one() == 1


def test_nobody_is_told_to_wait_where_nobody_waits(engine: Engine) -> None:
    said: list[str] = []
    migrate(engine, said.append)
    assert said == []


@pytest.mark.parametrize(
    ("report", "sentence"),
    [
        (
            MigrationReport("ctfd", "8275865e5992", "0001", ("column users.language", "index a", "index b", "table c")),
            "Adopted CTFd's database at its revision 8275865e5992, now 0001: added 1 table, 1 column, 2 indexes",
        ),
        (
            MigrationReport("ours", "0001", "0002", ("table c", "table d")),
            "Upgraded the schema from revision 0001 to 0002: added 2 tables",
        ),
        (MigrationReport("ours", "0001", "0002", ()), "Upgraded the schema from revision 0001 to 0002: added nothing"),
    ],
)
def test_a_report_is_one_sentence(report: MigrationReport, sentence: str) -> None:
    assert str(report) == sentence


def test_the_revision_that_is_asked_for_is_the_newest_one_there_is() -> None:
    assert ScriptDirectory.from_config(alembic_config()).get_current_head() == HEAD
