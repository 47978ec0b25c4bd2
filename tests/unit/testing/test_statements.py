"""Counting statements."""

from sqlalchemy import Connection, select

from ctfd_twisted.accounts.tables import users
from ctfd_twisted.db.notices import EVERYTHING, touch
from ctfd_twisted.testing import MemoryPlatform
from ctfd_twisted.testing.statements import counted_statements


def test_each_statement_within_the_block_is_counted_once(conn: Connection) -> None:
    conn.execute(select(users))
    with counted_statements(conn) as sent:
        conn.execute(select(users.c.id))
        conn.execute(
            users.insert(), [{"name": "ann", "change_password": False}, {"name": "ben", "change_password": False}]
        )
    conn.execute(select(users))
    assert [statement.split()[0] for statement in sent] == ["SELECT", "INSERT"]


def test_a_platform_is_counted_in_reads_and_writes() -> None:
    platform = MemoryPlatform().setup()
    ann = platform.player("ann")
    with counted_statements(platform.db.engines) as read:
        ann.get("/api/v1/challenges")
    with counted_statements(platform.db.engines) as again:
        ann.get("/api/v1/challenges")
    platform.run(lambda conn: touch(conn, EVERYTHING))
    with counted_statements(platform.db.engines) as anew:
        ann.get("/api/v1/challenges")
    platform.close()
    assert len(read) >= len(anew) > len(again)
