"""What workers on one SQLite file remember: a sibling's solve makes it grow, and a sibling's wrong answer nothing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, update

from ctfd_twisted.accounts.tables import users
from ctfd_twisted.challenges.catalogue import NEWS, TOPICS, grow_catalogue, read_catalogue
from ctfd_twisted.challenges.own import Who, read_own
from ctfd_twisted.challenges.recording import NewAttempt
from ctfd_twisted.competition.store import read_competition, write_config
from ctfd_twisted.db.database import Database, start_inline
from ctfd_twisted.db.engine import open_engines
from ctfd_twisted.db.growing import GrowingSnapshot
from ctfd_twisted.db.notices import Bus, touch
from ctfd_twisted.db.snapshot import KeyedSnapshots, Snapshot
from ctfd_twisted.http.shared import Press
from ctfd_twisted.ops.metrics.meter import Meter
from ctfd_twisted.scoring.boards import PublicBoard
from ctfd_twisted.scoring.live_board import LiveBoard
from ctfd_twisted.testing import result_of
from ctfd_twisted.testing.answers import attempt
from ctfd_twisted.testing.builders import a_challenge, a_flag, a_user


class Worker:
    """One process of several: what it remembers of the competition, and how often that was built or grew."""

    def __init__(self, url: str) -> None:
        self.db = db = Database(open_engines(url), Bus(), write=start_inline, read=start_inline)
        db.engines.start_watch()
        self.board = PublicBoard(db, "")
        self.catalogue = GrowingSnapshot(db, db.bus, read_catalogue, grow_catalogue, topics=TOPICS, prefixes=NEWS)
        self.competition = Snapshot(db, db.bus, read_competition, {"config"})
        self.shared: tuple[Any, ...] = self.board, self.catalogue, self.competition
        self.own: Any = KeyedSnapshots(db, db.bus, read_own, (), topics_of=Who.topics, limit=9)
        self._meter = db.meter = Meter()

    def look(self, *people: int) -> int:
        """Notice what others wrote; how much of what all read, and of what is *people*'s own, has to be read anew."""
        self.db.notice_others()
        own = [self.own.ready(Who(person, None)) for person in people]
        return [*(one.ready() for one in self.shared), *own].count(None)

    def read(self, *people: int) -> None:
        """Read it."""
        for one in self.shared:
            result_of(one.get())
        for person in people:
            result_of(self.own.get(Who(person, None)))

    def made(self) -> dict[str, int]:
        """How many builds and growths there were since this was asked last."""
        made = {"built": 0, "grown": 0}
        for family in self._meter.families():
            for sample in family.samples if family.name == "ctfplatform_snapshot_builds" else ():
                made[sample.labels["how"]] += int(sample.value)
        self._meter = self.db.meter = Meter()
        return made


@pytest.fixture
def workers(sqlite_template: Path, tmp_path: Path) -> Iterator[tuple[Worker, Worker]]:
    url = f"sqlite:///{shutil.copy(sqlite_template, tmp_path / 'ctf.sqlite')}"
    one, other = Worker(url), Worker(url)
    yield one, other
    one.db.close()
    other.db.close()


def test_a_sibling_takes_over_what_a_commit_adds(workers: tuple[Worker, Worker], now: datetime) -> None:
    one, other = workers

    def begin(conn: Connection) -> tuple[int, int, int]:
        write_config(conn, {"user_mode": "users", "setup": True})
        challenge = a_challenge(conn, dynamic={"initial": 100, "minimum": 10, "decay": 3})
        a_flag(conn, challenge)
        touch(conn, "config")
        return a_user(conn, name="ann"), a_user(conn, name="ben"), challenge

    ann, ben, challenge = result_of(one.db.run(begin))

    def answer(person: int, text: str) -> str:
        status: str = result_of(one.db.run(attempt, NewAttempt(now, person, False, challenge, text, "::1"))).status
        return status

    other.look()
    other.read(ann, ben)
    assert (other.look(ann, ben), other.made()["grown"]) == (0, 0)

    assert answer(ann, "wrong") == "incorrect"
    assert other.look(ben) == 0  # nothing but what is hers
    assert other.look(ann) == 1
    other.read(ann)
    assert other.made() == {"built": 1, "grown": 0}

    for person in (ann, ben):
        assert answer(person, "flag{right}") == "correct"
        assert other.look() == 2
        other.read()
        assert other.made() == {"built": 0, "grown": 2}
        board, made = result_of(other.board.get()), result_of(other.db.read(LiveBoard, "", Press())).board
        assert board.standings == made.standings
        assert board.answer.body == made.answer.body
        assert result_of(other.catalogue.get()) == result_of(other.db.read(read_catalogue))

    def hide(conn: Connection) -> None:
        conn.execute(update(users).where(users.c.id == ann).values(hidden=True))
        touch(conn, "accounts")

    result_of(one.db.run(hide))
    other.look()
    other.read()
    assert other.made()["grown"] == 0
    assert len(result_of(other.board.get()).standings) == 1
