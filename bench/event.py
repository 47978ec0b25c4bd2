"""The event that is measured: written straight into a database, the same at every run."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import msgspec
from sqlalchemy import Connection, Engine, func, select, text

from bench.bulk import fill, instant
from ctfd_twisted.accounts.passwords import make_hash
from ctfd_twisted.accounts.tables import teams, tokens, users
from ctfd_twisted.accounts.tokens import digest_of
from ctfd_twisted.challenges.tables import challenges, dynamic_challenge, flags, tags
from ctfd_twisted.competition.store import write_config
from ctfd_twisted.scoring.tables import solves, submissions

PASSWORD = "a password of twenty-two"  # noqa: S105 - of people who do not exist
ROUNDS = 10


class Size(msgspec.Struct, frozen=True):
    """How large the event is."""

    teams: int = 250
    users: int = 1_000
    challenges: int = 100
    solves: int = 20_000
    wrong: int = 50_000


class Event(msgspec.Struct, frozen=True):
    """What the load needs: by user id the access token, and which (user, challenge) pairs are still unsolved."""

    tokens: dict[int, str]
    names: dict[int, str]
    unsolved: list[tuple[int, int]]
    challenges: int


def flag_of(challenge_id: int) -> str:
    """The right answer of a challenge."""
    return f"flag{{{challenge_id}}}"


def play(engine: Engine, size: Size) -> Event:
    """Fill the migrated, empty database of *engine*."""
    with engine.begin() as conn:
        event = _play(conn, size, random.Random(31337))  # noqa: S311 - the same event at every run is the point
    analyze(engine)
    return event


def analyze(engine: Engine) -> None:
    """What PostgreSQL's autovacuum has done long before an event is as large as this."""
    if engine.dialect.name == "postgresql":
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as conn:
            conn.execute(text("VACUUM ANALYZE"))


def _play(conn: Connection, size: Size, chance: random.Random) -> Event:
    now = datetime.now(UTC)
    write_config(
        conn,
        {
            "setup": "true",
            "ctf_name": "Bench",
            "user_mode": "teams",
            "incorrect_submissions_per_min": 10_000_000,
            "challenge_visibility": "private",
        },
    )
    password = make_hash(PASSWORD, ROUNDS)
    flags_of_people = {"hidden": False, "banned": False}
    conn.execute(
        teams.insert(),
        [
            {"id": team, "name": f"Team {team}", "email": f"team{team}@example.org", "created": now, **flags_of_people}
            for team in range(1, size.teams + 1)
        ],
    )
    people = range(1, size.users + 1)
    conn.execute(
        users.insert(),
        [
            {
                "id": user,
                "name": f"player{user}",
                "email": f"player{user}@example.org",
                "password": password,
                "type": "user",
                "verified": True,
                "change_password": False,
                "team_id": (user - 1) % size.teams + 1,
                "created": now,
                **flags_of_people,
            }
            for user in people
        ],
    )
    values = {user: f"ctfd_{user:064x}" for user in people}
    conn.execute(
        tokens.insert(),
        [
            {
                "type": "user",
                "user_id": user,
                "created": now,
                "expiration": now + timedelta(days=30),
                "value": f"sha256${digest_of(value)}",
            }
            for user, value in values.items()
        ],
    )
    _add_challenges(conn, size)
    unsolved = _add_submissions(conn, size, chance, now)
    if conn.dialect.name == "postgresql":
        # The rows above brought their ids along, of which PostgreSQL's sequences know nothing.
        for table in (users, teams, challenges, submissions):
            last = select(func.max(table.c.id)).scalar_subquery()
            conn.execute(select(func.setval(func.pg_get_serial_sequence(table.name, "id"), last)))
    return Event(values, {user: f"player{user}" for user in people}, unsolved, size.challenges)


def _add_challenges(conn: Connection, size: Size) -> None:
    numbers = range(1, size.challenges + 1)
    conn.execute(
        challenges.insert(),
        [
            {
                "id": number,
                "name": f"Challenge number {number}",
                "description": "Find the flag. " * 40,
                "category": ("pwn", "web", "crypto", "forensics", "misc")[number % 5],
                "value": 100 + number,
                "type": "dynamic" if number % 4 == 0 else "standard",
                "state": "visible",
                "max_attempts": 0,
                "logic": "any",
                "position": 0,
                "function": "static",
            }
            for number in numbers
        ],
    )
    conn.execute(
        dynamic_challenge.insert(),
        [
            {
                "id": number,
                "dynamic_initial": 500,
                "dynamic_minimum": 100,
                "dynamic_decay": 200,
                "dynamic_function": "logarithmic",
            }
            for number in numbers
            if number % 4 == 0
        ],
    )
    conn.execute(
        flags.insert(),
        [{"challenge_id": number, "type": "static", "content": flag_of(number), "data": ""} for number in numbers],
    )
    conn.execute(tags.insert(), [{"challenge_id": number, "value": "beginner"} for number in numbers])


def _add_submissions(conn: Connection, size: Size, chance: random.Random, now: datetime) -> list[tuple[int, int]]:
    pairs = [(team, number) for team in range(1, size.teams + 1) for number in range(1, size.challenges + 1)]
    chance.shuffle(pairs)
    members = range(-(-size.users // size.teams))
    begin = now - timedelta(days=2)
    apart = timedelta(days=2) / (size.solves + size.wrong + 1)

    def member(team: int) -> int:
        return team + size.teams * chance.choice(members)

    solved = [(key, number, member(team), team) for key, (team, number) in enumerate(pairs[: size.solves], 1)]

    def rows() -> Iterator[tuple[object, ...]]:
        for key, number, user, team in solved:
            yield key, number, user, team, "203.0.113.7", flag_of(number), "correct", instant(begin + apart * key)
        for key in range(size.solves + 1, size.solves + size.wrong + 1):
            team, number = chance.choice(pairs)
            yield key, number, member(team), team, "203.0.113.7", "flag{no}", "incorrect", instant(begin + apart * key)

    whose = ("id", "challenge_id", "user_id", "team_id")
    fill(conn, submissions, (*whose, "ip", "provided", "type", "date"), rows())
    fill(conn, solves, whose, solved)
    return [(member(team), number) for team, number in pairs[size.solves :]]
