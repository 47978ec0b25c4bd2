"""Steps that revisions share: completing a schema, and telling of other programs' changes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Column, Connection, MetaData, Table, inspect
from sqlalchemy.schema import CreateColumn


def add_missing_tables(conn: Connection, schema: MetaData) -> set[str]:
    """Make the tables of *schema* that are not there yet, and return their names."""
    missing = set(schema.tables) - set(inspect(conn).get_table_names())
    # A copy, because SQLAlchemy marks a constraint that it has added by ALTER as never to be part of CREATE TABLE, and
    # the mark would hold for an SQLite database that this process makes after a PostgreSQL one.
    copy = MetaData()
    for table in schema.tables.values():
        table.to_metadata(copy)
    copy.create_all(conn, tables=[copy.tables[name] for name in sorted(missing)])
    return missing


def add_missing_columns(conn: Connection, schema: MetaData) -> set[tuple[str, str]]:
    """Add the columns of *schema* that its tables lack, and return them as (table, column)."""
    inspector = inspect(conn)
    added = set()
    for table in schema.tables.values():
        present = {column["name"] for column in inspector.get_columns(table.name)}
        for column in table.columns:
            if column.name not in present:
                _add_column(conn, table, column)
                added.add((table.name, column.name))
    return added


def _add_column(conn: Connection, table: Table, column: Column[Any]) -> None:
    # Alembic's add_column wants to add the foreign key in a second statement, which SQLite does not have.
    fill = column.info.get("fill")
    definition = str(CreateColumn(column).compile(dialect=conn.dialect))
    if fill is not None:
        definition += f" DEFAULT '{fill}'"
    for key in column.foreign_keys:
        named = f" CONSTRAINT {key.name}" if key.name else ""
        rule = f" ON DELETE {key.ondelete}" if key.ondelete else ""
        definition += f"{named} REFERENCES {key.column.table.name} ({key.column.name}){rule}"
    conn.exec_driver_sql(f"ALTER TABLE {table.name} ADD COLUMN {definition}")


def rebuild_tables_with_old_rules(conn: Connection, schema: MetaData) -> None:
    """On SQLite, give tables of early CTFd 2 the ON DELETE rules of *schema*; every row and further column is kept.

    CTFd gave them to other databases by ALTER, which SQLite does not have. Its manual's way is a new table in place of
    the old one, with foreign keys switched off (``migrate`` does that).
    """
    if conn.dialect.name != "sqlite":
        return
    inspector = inspect(conn)
    for table in schema.tables.values():
        wanted = {key.parent.name: key.ondelete for key in table.foreign_keys}
        found = {
            key["constrained_columns"][0]: key["options"].get("ondelete")
            for key in inspector.get_foreign_keys(table.name)
        }
        if found != wanted:
            further = [column for column in inspector.get_columns(table.name) if column["name"] not in table.columns]
            _rebuild(conn, schema, table, [Column(column["name"], column["type"]) for column in further])


def _rebuild(conn: Connection, schema: MetaData, table: Table, further: list[Column[Any]]) -> None:
    copy = MetaData()
    for other in schema.tables.values():
        other.to_metadata(copy)
    new = table.to_metadata(copy, name=f"ctfp_new_{table.name}")
    for column in further:
        new.append_column(column)
    new.create(conn)
    names = ", ".join(f'"{column.name}"' for column in new.columns)
    conn.exec_driver_sql(f"INSERT INTO {new.name} ({names}) SELECT {names} FROM {table.name}")  # noqa: S608 - names of a schema
    conn.exec_driver_sql(f"DROP TABLE {table.name}")
    conn.exec_driver_sql(f"ALTER TABLE {new.name} RENAME TO {table.name}")


# A program that is not one of our nodes writes without telling anybody. Our nodes tell precisely what they touched, so
# for them the triggers keep silent: on PostgreSQL because they call themselves "ctfp:<node>" (docs/adr/0010), on SQLite
# because their connections alone let triggers recurse (docs/adr/0088).
_NOTICE = """
CREATE OR REPLACE FUNCTION ctfp_notice() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('application_name') NOT LIKE 'ctfp:%' THEN
        PERFORM pg_notify('ctfp', 'table ' || TG_TABLE_NAME);
    END IF;
    RETURN NULL;
END
$$
"""

#: The tables in which it is told; a change there is not told of again.
_TELLING = frozenset({"ctfp_news", "ctfp_others"})
#: How many news are kept at least, and how many more before the oldest go.
_KEPT, _AT_A_TIME = 1024, 128
_ON_SQLITE = {
    # To take the first step of the one row is refused, but on the way the row takes the second, with a new mark. Where
    # triggers recurse, the second step meets this trigger as well and is refused too: nothing is changed.
    "ctfp_silence": """
        BEFORE UPDATE ON ctfp_others
        BEGIN
            UPDATE ctfp_others SET mark = random(), step = 2 WHERE id = 2 - NEW.step;
            SELECT RAISE(IGNORE);
        END
    """,
    "ctfp_prune": f"""
        AFTER INSERT ON ctfp_news WHEN NEW.id % {_AT_A_TIME} = 0
        BEGIN
            DELETE FROM ctfp_news WHERE id <= NEW.id - {_KEPT};
        END
    """,  # noqa: S608 - two numbers, above
}
_FIRST_STEP = "BEGIN UPDATE ctfp_others SET step = 1 WHERE id = 1; END"


def notice_changes(conn: Connection, tables: Iterable[str]) -> None:
    """Make it known to our nodes when another program changes one of *tables*; on SQLite, where it is not yet."""
    if conn.dialect.name == "sqlite":
        _notice_on_sqlite(conn, set(tables) - _TELLING)
        return
    conn.exec_driver_sql(_NOTICE.replace("%", "%%"))
    for table in tables:
        conn.exec_driver_sql(
            f"CREATE TRIGGER ctfp_notice AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON {table} "
            "FOR EACH STATEMENT EXECUTE FUNCTION ctfp_notice()"
        )


def _notice_on_sqlite(conn: Connection, tables: Iterable[str]) -> None:
    wanted = dict(_ON_SQLITE)
    for table in sorted(tables):
        for change in ("INSERT", "UPDATE", "DELETE"):
            wanted[f"ctfp_notice_{table}_{change.lower()}"] = f"AFTER {change} ON {table} {_FIRST_STEP}"
    present = set(conn.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'trigger'").scalars())
    for name in wanted.keys() - present:
        conn.exec_driver_sql(f"CREATE TRIGGER {name} {wanted[name]}")
    conn.exec_driver_sql(
        "INSERT INTO ctfp_others (id, mark, step) SELECT 1, 0, 0 WHERE NOT EXISTS (SELECT 1 FROM ctfp_others)"
    )
