"""What each right answer counts is found by indexes alone: on a real file, of the schema that migrations make."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, event

from ctfd_twisted.challenges.recording import NewAttempt
from ctfd_twisted.competition.store import write_config
from ctfd_twisted.db.engine import open_engines
from ctfd_twisted.testing.answers import attempt
from ctfd_twisted.testing.builders import a_challenge, a_flag, a_team, a_user

LARGE = ("submissions", "solves", "users", "teams", "challenges", "flags", "ctfp_webhook_events")
NOW = datetime(2026, 3, 14, tzinfo=UTC)


@pytest.fixture
def file_conn(sqlite_template: Path, tmp_path: Path) -> Iterator[Connection]:
    """A transaction on a migrated file that is never committed."""
    path = tmp_path / "platform.sqlite"
    path.write_bytes(sqlite_template.read_bytes())
    engines = open_engines(f"sqlite:///{path}")
    with engines.writer() as conn, conn.begin():
        yield conn
    engines.close()


@pytest.mark.parametrize("mode", ["users", "teams"])
def test_a_right_answer_goes_through_no_table(file_conn: Connection, mode: str) -> None:
    write_config(file_conn, {"setup": True, "user_mode": mode})
    team = a_team(file_conn) if mode == "teams" else None
    user = a_user(file_conn, team_id=team)
    challenge = a_challenge(file_conn, type="dynamic", dynamic={}, max_attempts=3)
    a_flag(file_conn, challenge, "right")
    sent: list[tuple[str, Any]] = []
    event.listen(file_conn, "before_cursor_execute", lambda *facts: sent.append((facts[2], facts[3])))
    assert attempt(file_conn, NewAttempt(NOW, user, False, challenge, "right", "::1")).status == "correct"
    asked = [(sql, tuple(values)) for sql, values in sent if sql.startswith(("SELECT", "INSERT"))]
    plans = [row[3] for sql, values in asked for row in file_conn.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", values)]
    scans = tuple(f"SCAN {table}" for table in LARGE)
    assert [step for step in plans if step.startswith(scans) and "INDEX" not in step] == []
    assert any(f"ctfp_ix_{mode}_unlisted" in step for step in plans)
    assert any(f"ctfp_ix_submissions_{mode.removesuffix('s')} (" in step for step in plans)
