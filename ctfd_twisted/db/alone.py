"""A statement that is a transaction by itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection


@contextmanager
def alone(conn: Connection) -> Iterator[None]:
    """Within this each statement that reads sees a state of its own, where nothing was read on *conn* before.

    What asks PostgreSQL only once needs no transaction around it, whose beginning and end cost as much as many an
    answer. SQLite, which is no server, goes on with the one that there is.
    """
    driver: Any = conn.connection.driver_connection
    if conn.dialect.name != "postgresql" or driver.info.transaction_status:
        yield
        return
    driver.autocommit = True
    try:
        yield
    finally:
        if not driver.closed:
            driver.autocommit = False
