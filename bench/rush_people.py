"""Who plays an opening minute: made in a database of our own, or through the API of an organiser's server."""

from __future__ import annotations

import asyncio
import json
import secrets
import ssl
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
from itsdangerous import Signer
from sqlalchemy import Engine, select

from bench.bulk import fill, instant
from bench.event import PASSWORD, Size, flag_of, play
from bench.rush_line import Line
from bench.rush_shapes import Person, Place
from ctfd_twisted.accounts.keys import Keys, new_session_sid, sid_hash
from ctfd_twisted.accounts.sessions_tables import sessions
from ctfd_twisted.accounts.tables import users
from ctfd_twisted.challenges.tables import hints
from ctfd_twisted.http.cookies import Cookies

#: So many requests at once prepare the rush, or clean up after it.
AT_ONCE = 8
CHALLENGES = 60
A_TEAM = 4


def seed(engine: Engine, players: int, secret_key: bytes, *, sessions_too: bool) -> tuple[list[Person], dict[int, str]]:
    """Fill the migrated, empty database of *engine* with an event before its opening; the people, and the flags."""
    play(engine, Size(teams=-(-players // A_TEAM), users=players, challenges=CHALLENGES, solves=0, wrong=0))
    numbers = range(1, CHALLENGES + 1)
    with engine.begin() as conn:
        stored = conn.scalar(select(users.c.password).limit(1))
        rows = [
            {"challenge_id": number, "content": "Look closer.", "cost": 0, "type": "standard"} for number in numbers
        ]
        conn.execute(hints.insert(), rows)
        sids = [new_session_sid() for _ in range(players)]
        if sessions_too:
            now = datetime.now(UTC)
            mac = Keys(secret_key).password_mac(stored)
            moments = instant(now), instant(now + timedelta(days=7)), instant(now)
            columns = ("sid_hash", "user_id", "password_mac", "created", "expires", "seen", "address", "user_agent")
            rush = ((sid_hash(sid), user, mac, *moments, _address(user), "rush") for user, sid in enumerate(sids, 1))
            fill(conn, sessions, columns, rush)
    cookies, signer = Cookies(secret_key, "/"), Signer(secret_key)
    people = [Person(f"player{user}", PASSWORD, address=_address(user)) for user in range(1, players + 1)]
    if sessions_too:
        for person, sid in zip(people, sids, strict=True):
            cookie = f"session={signer.sign(sid).decode()}"
            person.headers = [("Cookie", cookie), ("CSRF-Token", cookies.nonce(sid))]
    return people, {number: flag_of(number) for number in numbers}


def _address(user: int) -> str:
    return f"198.{18 + user % 2}.{user // 500 % 250}.{user // 2 % 250 + 1}"


def read_people(file: Path) -> list[Person]:
    """Those of whom *file* has a line: an access token, or name and password with a tab between them."""
    people = []
    for line in filter(None, map(str.strip, file.read_text().splitlines())):
        name, _, password = line.partition("\t")
        signed_in = [] if password else [("Authorization", f"Token {name}")]
        people.append(Person(name if password else name[:12], password, signed_in))
    return people


class Made(msgspec.Struct):
    """What was made on an organiser's server, to be removed again."""

    users: list[int] = []
    teams: list[int] = []


class Organiser:
    """Makes players through the API, with an administrator's token."""

    def __init__(self, place: Place, token: str) -> None:
        self._place = place
        self._headers = [("Authorization", f"Token {token}"), ("Content-Type", "application/json")]
        self._tls = ssl.create_default_context() if place.tls else None
        self.made = Made()

    def gather(self, players: int) -> list[Person]:
        """Make so many players, in teams where the competition has them; raises ``SystemExit`` where that fails."""
        return asyncio.run(self._gather(players))

    def flags(self) -> dict[int, str]:
        """The right answers of challenges whose flags are plain text."""
        found = asyncio.run(self._each([("GET", "/api/v1/flags", None)]))[0]
        return {flag["challenge_id"]: flag["content"] for flag in found if flag["type"] == "static"}

    def clean(self) -> None:
        """Remove what was made, and with it everything that these players did."""
        asyncio.run(self._each(("DELETE", f"/api/v1/users/{number}", None) for number in self.made.users))
        asyncio.run(self._each(("DELETE", f"/api/v1/teams/{number}", None) for number in self.made.teams))
        self.made = Made()

    async def _gather(self, players: int) -> list[Person]:
        run, password = secrets.token_hex(3), secrets.token_urlsafe(12)
        (mode,) = await self._each([("GET", "/api/v1/configs/user_mode", None)])
        names = [f"rush-{run}-{number:05}" for number in range(1, players + 1)]
        await self._each(
            ("POST", "/api/v1/users", {**_account(name, password), "type": "user", "verified": True}) for name in names
        )
        if mode["value"] == "teams":
            teams = [f"rush-{run}-team-{number}" for number in range(-(-players // A_TEAM))]
            await self._each(("POST", "/api/v1/teams", _account(name, password)) for name in teams)
            await self._each(
                ("POST", f"/api/v1/teams/{self.made.teams[number // A_TEAM]}/members", {"user_id": user})
                for number, user in enumerate(self.made.users)
            )
        return [Person(name, password) for name in names]

    async def _each(self, wanted: Iterable[tuple[str, str, object]]) -> list[Any]:
        """The ``data`` of each answer, in their order."""
        pending = list(enumerate(wanted))[::-1]
        answers: dict[int, Any] = {}
        await asyncio.gather(*(self._work(pending, answers) for _ in range(AT_ONCE)))
        return [answers[number] for number in sorted(answers)]

    async def _work(self, pending: list[tuple[int, tuple[str, str, object]]], answers: dict[int, Any]) -> None:
        line = Line(self._place.host, self._place.port, self._tls)
        try:
            while pending:
                number, (method, path, body) = pending.pop()
                answers[number] = await self._one(line, method, path, body)
        finally:
            line.close()

    async def _one(self, line: Line, method: str, path: str, body: object) -> Any:
        sent = b"" if body is None else json.dumps(body).encode()
        while True:
            reply = await line.ask(method, self._place.root + path, self._headers, sent)
            if reply.status not in {429, 503} or reply.retry_after is None:
                break
            await asyncio.sleep(reply.retry_after)
        if reply.status != 200:  # noqa: PLR2004 - done
            raise SystemExit(
                f"{method} {path} was answered {reply.status}: {reply.body[:300].decode(errors='replace')}"
            )
        data = json.loads(reply.body).get("data")
        if method == "POST" and path in {"/api/v1/users", "/api/v1/teams"}:
            (self.made.users if path.endswith("users") else self.made.teams).append(data["id"])
        return data


def _account(name: str, password: str) -> dict[str, object]:
    return {"name": name, "email": f"{name}@rush.example", "password": password}


def as_lines(people: Sequence[Person]) -> str:
    """What :func:`read_people` reads."""
    return "".join(f"{person.name}\t{person.password}\n" for person in people)
