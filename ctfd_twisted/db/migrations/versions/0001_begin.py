"""Begin: CTFd's schema where it is missing, our own tables and indexes, news of other programs' changes."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Connection, inspect, text

from ctfd_twisted.db.migrations import ctfd_387, own_0001
from ctfd_twisted.db.migrations.steps import (
    add_missing_columns,
    add_missing_tables,
    notice_changes,
    rebuild_tables_with_old_rules,
)

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Write CTFd 3.8.7's schema into an empty database, or complete the one that is there; then add what is ours."""
    conn = op.get_bind()
    tables = add_missing_tables(conn, ctfd_387.schema)
    columns = add_missing_columns(conn, ctfd_387.schema)
    if ("teams", "captain_id") in columns:
        _name_captains(conn)
    if ("dynamic_challenge", "dynamic_initial") in columns:
        _move_decay(conn)
    rebuild_tables_with_old_rules(conn, ctfd_387.schema)
    _stamp(conn, tables)
    own_0001.make()
    notice_changes(conn, [*ctfd_387.schema.tables, *own_0001.TABLES])


def _name_captains(conn: Connection) -> None:
    # As CTFd's own migration did: the member who has been there longest.
    conn.execute(text("UPDATE teams SET captain_id = (SELECT min(users.id) FROM users WHERE users.team_id = teams.id)"))


def _move_decay(conn: Connection) -> None:
    """Copy the parameters of dynamic challenges from the columns that CTFd had them in before 3.8.

    The old columns stay, so nothing is lost.
    """
    old = {column["name"] for column in inspect(conn).get_columns("dynamic_challenge")}
    for name in {"initial", "minimum", "decay", "function"} & old:
        conn.execute(text(f"UPDATE dynamic_challenge SET dynamic_{name} = {name}"))  # noqa: S608 - four words, above
    conn.execute(text("UPDATE dynamic_challenge SET dynamic_function = 'logarithmic' WHERE dynamic_function IS NULL"))


def _stamp(conn: Connection, made: set[str]) -> None:
    """Say which schema stands here now, in CTFd's words, so that CTFd can open the database as well."""
    if "config" in made:
        _config(conn, "ctf_version", ctfd_387.VERSION)
    if "dynamic_challenge" in made and conn.dialect.name == "postgresql":
        # Not on SQLite, where CTFd does not migrate it either.
        _config(conn, "dynamic_challenges_alembic_version", ctfd_387.DYNAMIC_REVISION)
    head = {"revision": ctfd_387.REVISION}
    if conn.execute(text("SELECT count(*) FROM alembic_version")).scalar_one():
        # On SQLite an older revision may stand here, whose tables are complete only now.
        conn.execute(text("UPDATE alembic_version SET version_num = :revision WHERE version_num <> :revision"), head)
    else:
        conn.execute(text("INSERT INTO alembic_version (version_num) VALUES (:revision)"), head)


def _config(conn: Connection, key: str, value: str) -> None:
    present = text("SELECT count(*) FROM config WHERE key = :key")
    if not conn.execute(present, {"key": key}).scalar_one():
        conn.execute(text("INSERT INTO config (key, value) VALUES (:key, :value)"), {"key": key, "value": value})
