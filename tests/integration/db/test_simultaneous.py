"""Nodes that start in the same second: one migrates, the others wait, say so, and find it done."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from queue import Queue

import pytest
from sqlalchemy import text

from ctfd_twisted.db import migrate as module
from ctfd_twisted.db.adopt import CannotMigrate
from ctfd_twisted.db.engine import Engines, open_engines
from ctfd_twisted.db.migrate import migrate

ROOT = Path(__file__).parents[3]
NODES = 5
NODE = """
import sys
from ctfd_twisted.db.engine import open_engines
from ctfd_twisted.db.migrate import migrate
engines = open_engines(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
print(migrate(engines.write_engine).found)
engines.close()
"""


@pytest.fixture
def first(empty_database_url: str) -> Iterator[Engines]:
    """The connections of a node to a database without tables, SQLite then PostgreSQL."""
    opened = open_engines(empty_database_url)
    yield opened
    opened.close()


@pytest.fixture
def second(empty_database_url: str) -> Iterator[Engines]:
    """Those of another node to the same database."""
    opened = open_engines(empty_database_url)
    yield opened
    opened.close()


def hold_the_lock(engines: Engines, stack: ExitStack) -> None:
    """Keep others from migrating for as long as *stack* is open."""
    conn = stack.enter_context(engines.write_engine.connect())
    stack.enter_context(conn.begin())  # on SQLite this is the lock
    if engines.dialect == "postgresql":
        conn.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": 0x63746670})


def test_of_five_processes_on_an_empty_database_one_migrates_and_none_fails(empty_database_url: str) -> None:
    with ExitStack() as stack:
        nodes = [
            stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", NODE, empty_database_url],
                    cwd=ROOT,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            )
            for _ in range(NODES)
        ]
        for node in nodes:
            assert node.stdout is not None
            assert node.stdout.readline() == "ready\n"
        for node in nodes:
            assert node.stdin is not None
            node.stdin.write("\n")
            node.stdin.flush()
        answers = [node.communicate(timeout=60) for node in nodes]
    assert [errors for _, errors in answers] == [""] * NODES
    assert Counter(found.strip() for found, _ in answers) == {"empty": 1, "ours": NODES - 1}


def test_a_node_that_waits_says_so_and_goes_on_when_it_may(first: Engines, second: Engines) -> None:
    said: Queue[str] = Queue()
    with ThreadPoolExecutor(1) as thread:
        with ExitStack() as stack:
            hold_the_lock(first, stack)
            migrating = thread.submit(migrate, second.write_engine, said.put)
            assert said.get(timeout=30) == "Waiting: another process migrates the database or writes to it"
            assert not migrating.done()
        assert migrating.result(timeout=30).found == "empty"


def test_a_node_does_not_wait_for_ever(first: Engines, second: Engines, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WAIT", 1)
    with ExitStack() as stack:
        hold_the_lock(first, stack)
        with pytest.raises(CannotMigrate, match=r"^Another process has not let go of the database"):
            migrate(second.write_engine)
    assert migrate(second.write_engine).found == "empty"
