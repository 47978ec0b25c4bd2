"""Answers that arrive at once: several processes, several threads in each, one database."""

import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
from sqlalchemy import Connection, func, select

from ctfd_twisted.challenges.tables import challenges
from ctfd_twisted.competition.store import write_config
from ctfd_twisted.db.engine import Engines
from ctfd_twisted.scoring.rules import logarithmic
from ctfd_twisted.scoring.tables import solves, submissions
from ctfd_twisted.testing.builders import a_challenge, a_flag, a_team, a_user
from ctfd_twisted.webhooks.tables import events

NOW = datetime(2026, 3, 14, tzinfo=UTC)
PROCESSES = 4

#: Sends the answers that it reads, one ``user challenge text`` a line, all at once; prints the status of each.
SENDER = """
import sys
from datetime import UTC, datetime
from queue import SimpleQueue

from twisted.python.threadpool import ThreadPool

from ctfd_twisted.challenges.attempts import attempts
from ctfd_twisted.challenges.recording import NewAttempt
from ctfd_twisted.db.database import Database, start_inline
from ctfd_twisted.db.engine import open_engines
from ctfd_twisted.db.notices import Bus
from ctfd_twisted.db.threads import start_in

engines = open_engines(sys.argv[1])
# As the platform has it: one writer in each process on a file, several on a server.
writers = 1 if engines.dialect == "sqlite" else 8
pool = ThreadPool(writers, writers)
pool.start()
# This thread is the reactor's: it does what the others ask of it.
calls = SimpleQueue()
start = start_in(pool, lambda fn, *args: calls.put((fn, args)))
db = Database(engines, Bus(), write=start, read=start_inline, writers=writers)
send = db.together(attempts)
now = datetime(2026, 3, 14, tzinfo=UTC)

print("ready", flush=True)
lines = sys.stdin.read().splitlines()
told = []
for line in lines:
    user, challenge, text = line.split()
    send(NewAttempt(now, int(user), False, int(challenge), text, "::1")).addBoth(told.append)
while len(told) < len(lines):
    fn, args = calls.get()
    fn(*args)
print(*[getattr(outcome, "status", outcome) for outcome in told])
pool.stop()
db.close()
"""


@pytest.fixture
def conn(engines: Engines) -> Iterator[Connection]:
    """A transaction that is committed at the end of what it prepares: call ``commit``."""
    with engines.writer() as connection:
        yield connection


def sent(url: str, answers: Iterable[tuple[int, int, str]]) -> Counter[str]:
    """How often each status came back, when *answers* are sent by several processes at the same time."""
    lines = [f"{user} {challenge} {text}" for user, challenge, text in answers]
    senders = [
        subprocess.Popen([sys.executable, "-c", SENDER, url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(PROCESSES)
    ]
    for sender in senders:
        assert sender.stdout is not None
        assert sender.stdout.readline() == "ready\n"
    with ThreadPoolExecutor(PROCESSES) as threads:
        shares = [lines[number::PROCESSES] for number in range(PROCESSES)]
        outputs = threads.map(
            lambda pair: pair[0].communicate("\n".join(pair[1]))[0], zip(senders, shares, strict=True)
        )
    assert [sender.returncode for sender in senders] == [0] * PROCESSES
    return Counter(status for output in outputs for status in output.split())


def happened(conn: Connection) -> Counter[str]:
    return Counter(conn.execute(select(events.c.event)).scalars())


def test_200_identical_right_answers_are_one_solve(conn: Connection, database_url: str) -> None:
    user, challenge = a_user(conn), a_challenge(conn, max_attempts=3)
    a_flag(conn, challenge)
    conn.commit()
    assert sent(database_url, [(user, challenge, "flag{right}")] * 200) == {"correct": 1, "already_solved": 199}
    assert conn.execute(select(func.count()).select_from(solves)).scalar() == 1
    assert conn.execute(select(submissions.c.type)).scalars().all() == ["correct"]
    assert happened(conn) == {"solve.created": 1, "first_blood.created": 1}


def test_members_of_a_team_solve_once(conn: Connection, database_url: str) -> None:
    write_config(conn, {"user_mode": "teams"})
    team = a_team(conn)
    members = [a_user(conn, team_id=team) for _ in range(4)]
    challenge = a_challenge(conn)
    a_flag(conn, challenge)
    conn.commit()
    answers = [(member, challenge, "flag{right}") for member in members] * 10
    assert sent(database_url, answers) == {"correct": 1, "already_solved": 39}
    assert conn.execute(select(func.count()).select_from(solves)).scalar() == 1


def test_the_last_try_is_the_last(conn: Connection, database_url: str) -> None:
    user, challenge = a_user(conn), a_challenge(conn, max_attempts=5)
    a_flag(conn, challenge)
    conn.commit()
    assert sent(database_url, [(user, challenge, "no")] * 60) == {"incorrect": 5, "ratelimited": 55}
    assert conn.execute(select(func.count()).select_from(submissions)).scalar() == 5


def test_ten_wrong_answers_a_minute_are_ten(conn: Connection, database_url: str) -> None:
    user = a_user(conn)
    numbers = [a_challenge(conn) for _ in range(20)]
    conn.commit()
    statuses = sent(database_url, [(user, number, "no") for number in numbers * 2])
    assert statuses == {"incorrect": 10, "ratelimited": 30}


def test_solves_at_once_all_count_and_one_is_first(conn: Connection, database_url: str) -> None:
    users = [a_user(conn) for _ in range(40)]
    challenge = a_challenge(conn, dynamic={"decay": 50})
    a_flag(conn, challenge)
    conn.commit()
    assert sent(database_url, [(user, challenge, "flag{right}") for user in users]) == {"correct": 40}
    assert conn.execute(select(challenges.c.value)).scalar() == logarithmic(500, 100, 50, 40)
    assert happened(conn) == {"solve.created": 40, "first_blood.created": 1}


def test_solves_of_many_challenges_at_once_all_count(conn: Connection, database_url: str) -> None:
    """Each process has the challenges in an order of its own, in which it would wait for the others for ever."""
    users = [a_user(conn) for _ in range(16)]
    numbers = [a_challenge(conn, dynamic={"decay": 50}) for _ in range(6)]
    for number in numbers:
        a_flag(conn, number)
    conn.commit()
    answers = [
        (user, number, "flag{right}") for user in users for number in (numbers if user % 2 else reversed(numbers))
    ]
    assert sent(database_url, answers) == {"correct": 96}
    values = conn.execute(select(challenges.c.value)).scalars().all()
    assert values == [logarithmic(500, 100, 50, 16)] * 6
    assert happened(conn) == {"solve.created": 96, "first_blood.created": 6}
