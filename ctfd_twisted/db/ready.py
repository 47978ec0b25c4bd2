"""Statements for the transactions that run most often: compiled once, and run by the driver's own cursor.

A statement of SQLAlchemy's Core costs some 20 microseconds each time it is run, most of them on the way between Core
and the driver; this one costs five on SQLite. It is still Core that writes the SQL for either database, and whose types
turn values into the database's and back. What is not kept: parameters that expand (``IN`` with a list), defaults of
columns, and rows that are fetched one by one.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Connection, Dialect
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.expression import Executable, ReturnsRows
from sqlalchemy.types import TypeEngine

Processor = Callable[[Any], Any]
Values = Mapping[str, Any]

_NONE: Final[Values] = {}


class Ready:
    """One statement, ready to be run on either database.

    :param statement: of Core; an insert with the names of its *columns*, since it does not see their values yet.
    """

    def __init__(self, statement: Executable, columns: Sequence[str] | None = None) -> None:
        self._statement = statement
        self._columns = columns
        self._compiled: dict[str, _Compiled] = {}

    def all(self, conn: Connection, values: Values = _NONE) -> list[Any]:
        """The rows: tuples whose items have the names of the columns."""
        return self._run(conn, values, _Compiled.rows)  # type: ignore[no-any-return]

    def first(self, conn: Connection, values: Values = _NONE) -> Any:
        """The first row, or ``None`` without any."""
        rows = self.all(conn, values)
        return rows[0] if rows else None

    def scalar(self, conn: Connection, values: Values = _NONE) -> Any:
        """The first column of the first row, or ``None`` without any."""
        row = self.first(conn, values)
        return None if row is None else row[0]

    def run(self, conn: Connection, values: Values = _NONE) -> int:
        """Run what returns nothing; how many rows it has written."""
        return self._run(conn, values, _written)  # type: ignore[no-any-return]

    def each(self, conn: Connection, many: Sequence[Values]) -> list[list[Any]]:
        """The rows for each of *many*, one after the other; PostgreSQL is sent all of them before it is waited for."""
        if len(many) == 1 or conn.dialect.name != "postgresql":
            return [self.all(conn, values) for values in many]
        return self._run_many(conn, many, _all_rows, returning=True) if many else []

    def run_each(self, conn: Connection, many: Sequence[Values]) -> None:
        """Run what returns nothing for each of *many*."""
        if len(many) == 1:
            self.run(conn, many[0])
        elif many:
            self._run_many(conn, many, _nothing)

    def _run(self, conn: Connection, values: Values, read: Callable[[_Compiled, Any], Any]) -> Any:
        compiled = self._for(conn.dialect)
        parameters = compiled.parameters(values)
        return _sent(conn, compiled, parameters, lambda cursor: cursor.execute(compiled.sql, parameters), read)

    def _run_many(
        self, conn: Connection, many: Sequence[Values], read: Callable[[_Compiled, Any], Any], **options: Any
    ) -> Any:
        compiled = self._for(conn.dialect)
        parameters = [compiled.parameters(values) for values in many]

        def send(cursor: Any) -> None:
            cursor.executemany(compiled.sql, parameters, **options)

        return _sent(conn, compiled, parameters, send, read)

    def _for(self, dialect: Dialect) -> _Compiled:
        compiled = self._compiled.get(dialect.name)
        if compiled is None:
            # Two threads may both compile it, to the same.
            compiled = self._compiled[dialect.name] = _Compiled(self._statement, self._columns, dialect)
        return compiled


def _sent(
    conn: Connection,
    compiled: _Compiled,
    parameters: Any,
    send: Callable[[Any], object],
    read: Callable[[_Compiled, Any], Any],
) -> Any:
    dialect = conn.dialect
    cursor = conn.connection.cursor()
    for listener in conn.dispatch.before_cursor_execute:
        listener(conn, cursor, compiled.sql, parameters, None, False)
    try:
        send(cursor)
        return read(compiled, cursor)
    except dialect.loaded_dbapi.Error as error:
        raise _told(conn, compiled.sql, cursor, error) from error
    finally:
        cursor.close()


def _nothing(_: _Compiled, __: Any) -> None:
    """What is read where nothing is returned."""


def _all_rows(compiled: _Compiled, cursor: Any) -> list[list[Any]]:
    """What psycopg's cursor has found for each of many."""
    found = [compiled.rows(cursor)]
    while cursor.nextset():
        found.append(compiled.rows(cursor))
    return found


def _written(_: _Compiled, cursor: Any) -> int:
    return int(cursor.rowcount)


class _Compiled:
    """A statement as one dialect sends it."""

    def __init__(self, statement: Executable, columns: Sequence[str] | None, dialect: Dialect) -> None:
        compiled = statement.compile(dialect=dialect, column_keys=None if columns is None else list(columns))  # type: ignore[attr-defined]
        assert isinstance(compiled, SQLCompiler)  # noqa: S101 - of statements; only types compile to others
        self.sql = str(compiled)
        self._order: list[str] | None = compiled.positiontup
        binds = compiled.binds.items()
        self._fixed = {
            name: bind.effective_value for name, bind in binds if not bind.required and name not in (columns or ())
        }
        self._to_database = _processors({name: bind.type for name, bind in binds}, dialect, "bind_processor")
        types = [column.type for column in statement.exported_columns] if isinstance(statement, ReturnsRows) else []
        self._from_database = _processors(dict(enumerate(types)), dialect, "result_processor", None)
        self._make: Any = None

    def parameters(self, values: Values) -> Any:
        """*values* in the driver's shape."""
        given = {**self._fixed, **values}
        for name, process in self._to_database:
            given[name] = process(given[name])
        return given if self._order is None else [given[name] for name in self._order]

    def rows(self, cursor: Any) -> list[Any]:
        """What *cursor* has found."""
        if self._make is None:
            row = namedtuple("row", [column[0] for column in cursor.description])  # type: ignore[misc]  # noqa: PYI024
            self._make = row._make
        make = self._make
        if not self._from_database:
            return [make(row) for row in cursor.fetchall()]
        return [make(self._read(row)) for row in cursor.fetchall()]

    def _read(self, row: Sequence[Any]) -> list[Any]:
        values = list(row)
        for index, process in self._from_database:
            values[index] = process(values[index])
        return values


def _processors(
    types: Mapping[Any, TypeEngine[Any]], dialect: Dialect, which: str, *more: Any
) -> list[tuple[Any, Processor]]:
    """What turns values of *types* on their way, by their name or place; most need nothing."""
    found = ((key, getattr(kind.dialect_impl(dialect), which)(dialect, *more)) for key, kind in types.items())
    return [(key, process) for key, process in found if process is not None]


def _told(conn: Connection, sql: str, cursor: Any, error: Exception) -> BaseException:
    """The driver's *error* as SQLAlchemy would tell it: those who try transactions again look at that."""
    dialect = conn.dialect
    driver: Any = conn.connection.dbapi_connection
    if dialect.name == "postgresql" and driver.pgconn.pipeline_status:
        # It can't leave the pipeline, as where the server has ended it and libpq has not seen that yet; so nothing else
        # can be sent.
        driver.close()
    if dialect.is_disconnect(error, driver, cursor):  # type: ignore[arg-type]
        # It fails once more, in the hands of SQLAlchemy, which then forgets all connections to a server that has left.
        conn.exec_driver_sql(sql)
    return DBAPIError.instance(sql, None, error, dialect.loaded_dbapi.Error, hide_parameters=True, dialect=dialect)
