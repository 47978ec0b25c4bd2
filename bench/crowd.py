"""A big event: what ``bench.event`` plays, ten times as large, with all the rows around it that administrators see."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import msgspec
from sqlalchemy import Connection, Engine, text

from bench.bulk import fill, instant
from bench.event import Event, Size, analyze, play
from ctfd_twisted.accounts.tables import brackets, field_entries, fields, teams, tokens, tracking, users
from ctfd_twisted.accounts.tokens import digest_of
from ctfd_twisted.challenges.opened import OPENED
from ctfd_twisted.challenges.tables import hints, ratings, topics
from ctfd_twisted.content.tables import comments, notifications
from ctfd_twisted.scoring.tables import awards, unlocks

SIZE = Size(teams=2_500, users=10_000, challenges=120, solves=200_000, wrong=500_000)
TOKEN = "ctfd_" + "a" * 64  # of nobody's platform
COUNTRIES = ("AT", "BR", "CH", "DE", "FR", "IN", "JP", "KE", "KR", "US")


class Crowd(msgspec.Struct, frozen=True):
    """The event as ``bench.event`` tells it, its size, and its administrator's token."""

    event: Event
    size: Size
    token: str


def gather(engine: Engine, size: Size) -> Crowd:
    """Fill the migrated, empty database of *engine*."""
    event = play(engine, size)
    with engine.begin() as conn:
        _surround(conn, size, random.Random(1729))  # noqa: S311 - the same event at every run is the point
    analyze(engine)
    return Crowd(event, size, TOKEN)


def _surround(conn: Connection, size: Size, chance: random.Random) -> None:
    now = datetime.now(UTC)
    someone = range(1, size.users + 1)
    _add_administrator(conn, now, size.users + 1)
    fill(conn, brackets, ("id", "name", "type"), [(1, "Students", "teams"), (2, "Everybody else", "teams")])
    conn.execute(teams.update().values(bracket_id=teams.c.id % 2 + 1, country="DE"))
    for number, country in enumerate(COUNTRIES):
        conn.execute(users.update().where(users.c.id % len(COUNTRIES) == number).values(country=country))
    fill(conn, fields, ("id", "name", "type", "field_type", "required", "public", "editable"), [
        (1, "School", "user", "text", False, True, True),
    ])  # fmt: skip
    fill(
        conn,
        field_entries,
        ("type", "value", "field_id", "user_id"),
        (("user", f'"School number {user % 300}"', 1, user) for user in someone),
    )
    fill(conn, tracking, ("type", "ip", "target", "user_id", "date"), _looks(size, chance, now))
    _add_challenge_parts(conn, size, chance, now)
    fill(
        conn,
        awards,
        ("user_id", "team_id", "type", "name", "value", "date"),
        ((user, (user - 1) % size.teams + 1, "standard", "Fair play", 10, instant(now)) for user in someone[::4]),
    )
    fill(
        conn,
        notifications,
        ("title", "content", "date"),
        ((f"Notice {number}", "The lights were out. " * 20, instant(now)) for number in range(200)),
    )
    fill(
        conn,
        comments,
        ("type", "content", "date", "author_id", "user_id"),
        (("user", "Asked about the rules.", instant(now), size.users + 1, user) for user in someone[::5]),
    )


def _add_administrator(conn: Connection, now: datetime, user_id: int) -> None:
    known = {"verified": True, "hidden": True, "banned": False, "change_password": False, "created": now}
    conn.execute(
        users.insert().values(id=user_id, name="organiser", email="organiser@example.org", type="admin", **known)
    )
    lasts = {"created": now, "expiration": now + timedelta(days=30)}
    conn.execute(tokens.insert().values(type="user", user_id=user_id, value=f"sha256${digest_of(TOKEN)}", **lasts))
    if conn.dialect.name == "postgresql":
        conn.execute(text("SELECT setval(pg_get_serial_sequence('users', 'id'), :last)"), {"last": user_id})


def _looks(size: Size, chance: random.Random, now: datetime) -> Iterator[tuple[object, ...]]:
    """Three addresses of everybody, and the challenges that they have opened."""
    for user in range(1, size.users + 1):
        for number in range(3):
            address = f"198.{18 + number}.{chance.randrange(256)}.{chance.randrange(256)}"
            yield None, address, None, user, instant(now - timedelta(seconds=user))
        for challenge in chance.sample(range(1, size.challenges + 1), 30):
            yield OPENED, "198.51.100.7", challenge, user, instant(now - timedelta(seconds=user))


def _add_challenge_parts(conn: Connection, size: Size, chance: random.Random, now: datetime) -> None:
    numbers = range(1, size.challenges + 1)
    each = [(2 * number - 1 + second, number, second * 50) for number in numbers for second in (0, 1)]
    fill(
        conn,
        hints,
        ("id", "type", "challenge_id", "content", "cost"),
        ((key, "standard", number, "Look closer.", cost) for key, number, cost in each),
    )
    fill(conn, topics, ("value",), ((f"topic {number}",) for number in numbers))
    bought = {(chance.randrange(1, size.users + 1), 2 * chance.choice(numbers)) for _ in range(size.users)}
    fill(
        conn,
        unlocks,
        ("user_id", "team_id", "target", "date", "type"),
        ((user, (user - 1) % size.teams + 1, hint, instant(now), "hints") for user, hint in sorted(bought)),
    )
    voices = {(chance.randrange(1, size.users + 1), chance.choice(numbers)) for _ in range(2 * size.users)}
    fill(
        conn,
        ratings,
        ("user_id", "challenge_id", "value", "review", "date"),
        ((user, number, 1, "Good.", instant(now)) for user, number in sorted(voices)),
    )
