"""Processes that write to one SQLite file at the same moment, or die there: nobody goes on knowing what has changed."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from tests.integration.db.sharing import ALL, House, outside, rows

ROOT = Path(__file__).parents[3]
KEYS = 6
WRITES = 150
#: Adds to numbers that anybody may remember, each under a topic of its own; some transactions fail, some touch nothing.
WRITER = """
import random, sys
from sqlalchemy import text
from ctfd_twisted.db.database import Database, start_inline
from ctfd_twisted.db.engine import open_engines
from ctfd_twisted.db.notices import Bus, touch

db = Database(open_engines(sys.argv[1]), Bus(), write=start_inline, read=start_inline)
dice = random.Random(sys.argv[2])

def write(conn, keys, fails):
    for key in keys:
        conn.execute(text("UPDATE brackets SET type = type + 1 WHERE id = :key"), {"key": key})
        touch(conn, f"key:{key}")
    conn.execute(text("INSERT INTO tracking (type) VALUES ('noise')"))
    if fails:
        raise LookupError

for number in range(int(sys.argv[3])):
    failures = []
    db.run(write, dice.sample(range(1, 7), dice.choice((0, 1, 1, 2))), dice.random() < 0.1).addErrback(failures.append)
    if failures:
        failures[0].trap(LookupError)
db.close()
"""
#: The same by a program that knows nothing of topics.
STRANGER = """
import random, sqlite3, sys
dice = random.Random(sys.argv[2])
conn = sqlite3.connect(sys.argv[1].removeprefix("sqlite:///"), timeout=30)
for number in range(int(sys.argv[3])):
    with conn:
        conn.execute("UPDATE brackets SET type = type + 1 WHERE id = ?", (dice.randint(1, 6),))
"""
#: Kills itself, as kill -9 does, before a statement that begins as it is told, or before the commit.
VICTIM = """
import os, signal, sys
from sqlalchemy import event, text
from ctfd_twisted.db.database import Database, start_inline
from ctfd_twisted.db.engine import open_engines
from ctfd_twisted.db.notices import Bus, touch

engines = open_engines(sys.argv[1])
db = Database(engines, Bus(), write=start_inline, read=start_inline)

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

def die_before(conn, cursor, statement, *_):
    if statement.startswith(sys.argv[2]):
        die()

event.listen(engines.write_engine, "before_cursor_execute", die_before)
if sys.argv[2] == "COMMIT":
    event.listen(engines.write_engine, "commit", die)

def write(conn):
    conn.execute(text("UPDATE config SET value = 'x'"))
    conn.execute(text("INSERT INTO users (name) VALUES ('x')"))
    touch(conn, "accounts")

db.run(write)
"""


def running(script: str, path: Path, *arguments: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", script, f"sqlite:///{path}", *map(str, arguments)], cwd=ROOT)


class Reader:
    """Remembers numbers until it hears of a change, and looks whether it remembers what is no more."""

    def __init__(self, house: House, path: Path) -> None:
        self._house = house
        self._conn = sqlite3.connect(path, isolation_level=None)
        self.heard: set[str] = set()
        self.remembered: dict[int, int] = {}
        house.db.bus.subscribe(self._hear)

    def _hear(self, topics: frozenset[str]) -> None:
        self.heard |= topics
        for key in tuple(self.remembered):
            if topics & {f"key:{key}", *ALL}:
                del self.remembered[key]

    def numbers(self) -> dict[int, int]:
        return {key: int(number) for key, number in self._conn.execute("SELECT id, type FROM brackets")}

    def look(self) -> int:
        """Notice what others wrote, remember anew what was forgotten; how much that was."""
        there = self.numbers()
        self._house.db.notice_others()
        # Numbers only grow, and these were committed before the look.
        assert all(number >= there[key] for key, number in self.remembered.items())
        forgotten = KEYS - len(self.remembered)
        self.remembered = {**self.numbers(), **self.remembered}
        return forgotten

    def close(self) -> None:
        self._conn.close()


@pytest.mark.parametrize("scripts", [(WRITER, WRITER), (WRITER, STRANGER), (WRITER, WRITER, STRANGER)])
def test_nothing_that_has_changed_is_remembered(one: House, path: Path, scripts: tuple[str, ...]) -> None:
    outside(path, *["INSERT INTO brackets (type) VALUES ('0')"] * KEYS)
    one.look()
    reader = Reader(one, path)
    processes = [running(script, path, number, WRITES) for number, script in enumerate(scripts)]
    while any(process.poll() is None for process in processes):
        reader.look()
    assert [process.returncode for process in processes] == [0] * len(scripts)
    reader.look()
    assert reader.look() == 0
    assert reader.remembered == reader.numbers()
    assert {f"key:{key}" for key in range(1, KEYS + 1)} <= reader.heard
    assert (reader.heard >= ALL) is (STRANGER in scripts)
    reader.close()


@pytest.mark.parametrize("moment", ["INSERT INTO users", "INSERT INTO ctfp_news", "COMMIT"])
def test_a_process_that_is_killed_leaves_nothing_that_silences_another_program(
    one: House, other: House, path: Path, moment: str
) -> None:
    telling = "SELECT * FROM ctfp_others", "SELECT * FROM ctfp_news"
    one.write("config")
    other.look()
    before = [rows(path, query) for query in telling]
    assert running(VICTIM, path, moment).wait(60) == -signal.SIGKILL
    assert [rows(path, query) for query in telling] == before
    assert other.look() == []
    outside(path, "INSERT INTO users (name) VALUES ('y')")
    assert (one.look(), other.look()) == ([ALL], [ALL])
    one.write("accounts")
    assert other.look() == [frozenset({"accounts"})]


def test_within_our_transactions_too_the_file_says_nothing_that_silences(one: House, path: Path) -> None:
    """What a killed machine could leave of an unfinished transaction is nothing but what stood there before."""
    before = rows(path, "SELECT * FROM ctfp_others")

    def write(conn: Connection) -> None:
        conn.execute(text("INSERT INTO users (name) VALUES ('x')"))
        assert [tuple(row) for row in conn.execute(text("SELECT * FROM ctfp_others"))] == before

    one.db.run(write)
    with closing(sqlite3.connect(path)) as program:
        assert program.execute("SELECT count(*) FROM users").fetchone() == (1,)
