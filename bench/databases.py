"""Empty databases for measurements of which each needs one of its own."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, Engine, create_engine, make_url, text
from sqlalchemy.exc import DBAPIError, ProgrammingError


@contextmanager
def one_of_its_own(folder: Path, database: str | None, name: str) -> Iterator[str]:
    """The URL of an empty database: an SQLite file in *folder*, or a new one on the PostgreSQL server of *database*.

    The latter is dropped in the end; *database* itself is only connected to, and nothing in it is touched. Raises
    ``SystemExit`` where its role may not create databases.
    """
    if database is None:
        yield f"sqlite:///{folder}/{name}.sqlite"
        return
    made = f"ctfp_bench_{name}_{secrets.token_hex(4)}"
    engine = create_engine(make_url(database).set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT")
    try:
        with _connected(engine) as conn:
            conn.execute(text(f'CREATE DATABASE "{made}"'))
        try:
            yield make_url(database).set(database=made).render_as_string(hide_password=False)
        finally:
            with engine.connect() as conn:
                conn.execute(text(f'DROP DATABASE IF EXISTS "{made}" WITH (FORCE)'))
    finally:
        engine.dispose()


@contextmanager
def _connected(engine: Engine) -> Iterator[Connection]:
    try:
        with engine.connect() as conn:
            yield conn
    except ProgrammingError as error:
        raise SystemExit(f"a database of its own could not be made: {error.orig}") from None
    except DBAPIError as error:
        raise SystemExit(f"{engine.url.render_as_string()} can't be reached: {error.orig}") from None
