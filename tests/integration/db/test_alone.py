"""A statement that is a transaction by itself, on both databases."""

from __future__ import annotations

import pytest
from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from ctfd_twisted.db.alone import alone
from ctfd_twisted.db.engine import Engines
from ctfd_twisted.db.ready import Ready

ONE = Ready(text("SELECT 1 AS one"))


def status(conn: Connection) -> int:
    """0 where the server knows of no transaction."""
    driver = conn.connection.driver_connection
    return driver.info.transaction_status if conn.dialect.name == "postgresql" else 0  # type: ignore[union-attr]


def test_a_server_begins_no_transaction_for_it(engines: Engines) -> None:
    with engines.reader() as conn, conn.begin():
        with alone(conn):
            assert ONE.scalar(conn) == 1
            assert status(conn) == 0
        ONE.scalar(conn)
        assert (status(conn) > 0) == (conn.dialect.name == "postgresql"), "what comes afterwards is in one"


def test_one_that_has_begun_goes_on(engines: Engines) -> None:
    with engines.reader() as conn, conn.begin():
        ONE.scalar(conn)
        before = status(conn)
        with alone(conn):
            ONE.scalar(conn)
        assert status(conn) == before


def test_an_error_leaves_the_connection_as_it_was(engines: Engines) -> None:
    with engines.reader() as conn, conn.begin():
        with pytest.raises(DBAPIError), alone(conn):
            Ready(text("SELECT nothing FROM nowhere")).all(conn)
        assert ONE.scalar(conn) == 1
