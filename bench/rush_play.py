"""Players of an opening minute, in one process: each has a connection, asks, thinks, and asks again."""

from __future__ import annotations

import asyncio
import json
import random
import re
import ssl
import time
from collections.abc import Sequence
from urllib.parse import urlencode

from bench.rush_line import Line, Reply, unexpected
from bench.rush_shapes import Part, Person, Place, Played, Sample

#: Seconds from the opening in which two thirds of the players have arrived; the others follow, fewer and fewer.
RUSH = 10.0
#: Seconds that a player looks at something before the next click, on average and at least.
THINKS, AT_LEAST = 5.0, 0.5
#: So many sign in at a time before the opening, for at most so many seconds.
AT_ONCE, A_DAY = 8, 86_400.0
#: What players do next, and how often of a hundred times.
HABITS = {"detail": 36, "wrong": 20, "right": 12, "list": 12, "scoreboard": 10, "board page": 4, "hint": 6}
_NONCE = re.compile(rb"csrfNonce': \"([a-f0-9]{64})\"")
_JSON = ("Content-Type", "application/json")


def play(part: Part) -> Played:
    """Play it."""
    return asyncio.run(_play(part))


async def _play(part: Part) -> Played:
    samples: list[Sample] = []
    late: list[float] = []
    watching = asyncio.create_task(_watch_self(late))
    # Loopback and the organiser's own server: who it is was decided by the one who named it.
    tls = ssl.create_default_context() if part.place.tls else None
    try:
        async with asyncio.TaskGroup() as group:
            for number, person in enumerate(part.people, part.first):
                chance = random.Random(part.seed * 1_000_003 + number)  # noqa: S311 - the same minute at every run
                group.create_task(_Player(part, person, chance, tls, samples).play())
    finally:
        watching.cancel()
    return Played(samples, late)


def sign_in(place: Place, people: Sequence[Person]) -> None:
    """Sign in everybody who is not yet, a few at a time; raises ``SystemExit`` where somebody can't."""
    asyncio.run(_sign_in(place, [person for person in people if not person.headers]))


async def _sign_in(place: Place, people: list[Person]) -> None:
    tls = ssl.create_default_context() if place.tls else None
    part = Part(place, people, 0, time.time(), A_DAY, 0)
    pending = iter(people)

    async def work() -> None:
        for person in pending:
            samples: list[Sample] = []
            player = _Player(part, person, random.Random(0), tls, samples)  # noqa: S311 - nothing is drawn
            if not await player.enter():
                raise SystemExit(f"{person.name} can't sign in: {samples[-1].fault if samples else 'no answer'}")

    await asyncio.gather(*(work() for _ in range(AT_ONCE)))


async def _watch_self(late: list[float]) -> None:
    while True:
        due = time.perf_counter() + 0.05
        await asyncio.sleep(0.05)
        late.append(time.perf_counter() - due)


def arrival(chance: random.Random, seconds: float) -> float:
    """Seconds from the opening to the arrival of one player."""
    at = chance.expovariate(1 / RUSH)
    return at if at < seconds * 0.8 else chance.uniform(0, seconds * 0.8)


class _Player:
    """One player's minute."""

    def __init__(
        self, part: Part, person: Person, chance: random.Random, tls: ssl.SSLContext | None, samples: list[Sample]
    ) -> None:
        self._part = part
        self._person = person
        self._chance = chance
        self._line = Line(part.place.host, part.place.port, tls)
        self._samples = samples
        self._headers = list(person.headers)
        self._open: list[int] = []
        self._opened: list[int] = []
        self._solved: set[int] = set()
        self._hints: list[int] = []

    async def play(self) -> None:
        """Arrive, sign in where that is to be done, and play until the minute is over."""
        await asyncio.sleep(max(0, self._part.begins - time.time()) + arrival(self._chance, self._part.seconds))
        try:
            if not self._headers and not await self._sign_in():
                return
            await self._ask("page", "/challenges")
            await self._list()
            while await self._think():
                await self._next()
        finally:
            self._line.close()

    async def enter(self) -> bool:
        """Sign in and hang up, so that the person is signed in from then on; whether that was done."""
        try:
            signed_in = await self._sign_in()
        finally:
            self._line.close()
        self._person.headers = self._headers
        return signed_in

    async def _think(self, least: float = 0) -> bool:
        """Pause; whether there is time for something more."""
        pause = max(least, AT_LEAST, self._chance.expovariate(1 / THINKS))
        left = self._left - pause
        if left > 0:
            await asyncio.sleep(pause)
        return left > 0

    @property
    def _left(self) -> float:
        return self._part.begins + self._part.seconds - time.time()

    async def _next(self) -> None:
        (what,) = self._chance.choices(list(HABITS), list(HABITS.values()))
        if what == "list" or not self._open:
            await self._list()
        elif what == "scoreboard":
            await self._ask("scoreboard", "/api/v1/scoreboard/top/10")
        elif what == "board page":
            await self._ask("board page", "/scoreboard")
            await self._ask("scoreboard", "/api/v1/scoreboard")
        elif what == "hint" and self._hints:
            await self._hint()
        elif what in {"wrong", "right"} and self._opened:
            await self._attempt(right=what == "right")
        else:
            await self._detail()

    async def _list(self) -> None:
        reply = await self._ask("list", "/api/v1/challenges")
        if reply is not None and reply.status == 200:  # noqa: PLR2004 - a list
            self._open = [one["id"] for one in reply.data if one["type"] != "hidden"]

    async def _detail(self) -> None:
        number = self._chance.choice(self._open)
        reply = await self._ask("detail", f"/api/v1/challenges/{number}")
        if reply is not None and reply.status == 200:  # noqa: PLR2004 - a challenge
            self._opened.append(number)
            self._hints += [hint["id"] for hint in reply.data.get("hints", ()) if not hint.get("cost")]

    async def _hint(self) -> None:
        number = self._hints.pop()
        reply = await self._ask("hint", f"/api/v1/hints/{number}")
        if reply is not None and reply.status == 200 and "content" not in reply.data:  # noqa: PLR2004 - not unlocked
            await self._ask("unlock", "/api/v1/unlocks", {"type": "hints", "target": number})

    async def _attempt(self, *, right: bool) -> None:
        known = [one for one in self._opened if one in self._part.place.flags and one not in self._solved]
        if right and known:
            number = self._chance.choice(known)
            self._solved.add(number)
            await self._submit("right attempt", number, self._part.place.flags[number])
            await self._list()
        else:
            number = self._chance.choice(self._opened)
            if number not in self._solved:
                await self._submit("wrong attempt", number, f"flag{{no {self._chance.random()}}}")

    async def _submit(self, kind: str, number: int, text: str) -> None:
        await self._ask(kind, "/api/v1/challenges/attempt", {"challenge_id": number, "submission": text})

    async def _sign_in(self) -> bool:
        """Sign in through the form, again where the server sends us away; whether it was done within the minute."""
        form = await self._ask("login form", "/login")
        while True:
            found = None if form is None else _NONCE.search(form.body)
            if found is not None and form is not None and form.cookie:
                body = {"name": self._person.name, "password": self._person.password, "nonce": found[1].decode()}
                reply = await self._ask("login", "/login", headers=[("Cookie", form.cookie)], form=body)
                if reply is not None and reply.status == 302 and reply.cookie:  # noqa: PLR2004 - on to the challenges
                    return await self._enter(reply.cookie)
                later = None if reply is None else reply.retry_after
                if reply is not None and later is None:
                    return False  # a wrong password
                pause = float(later or 1)
            else:
                pause = 2.0
            if self._left < pause:
                return False
            await asyncio.sleep(pause)
            if found is None:
                form = await self._ask("login form", "/login")

    async def _enter(self, cookie: str) -> bool:
        """Take the nonce of the new session from the first page, as a script there would."""
        page = await self._ask("page", "/challenges", headers=[("Cookie", cookie)])
        found = None if page is None else _NONCE.search(page.body)
        if found is None:
            return False
        self._headers = [("Cookie", cookie), ("CSRF-Token", found[1].decode())]
        return True

    async def _ask(
        self,
        kind: str,
        path: str,
        body: object = None,
        *,
        headers: Sequence[tuple[str, str]] | None = None,
        form: dict[str, str] | None = None,
    ) -> Reply | None:
        """One request and its reply; None where none came. Either is a sample."""
        sent = list(self._headers if headers is None else headers)
        content = b""
        if form is not None:
            content = urlencode(form).encode()
            sent.append(("Content-Type", "application/x-www-form-urlencoded"))
        elif path.startswith("/api/"):
            content = b"" if body is None else json.dumps(body).encode()
            sent.append(_JSON)
        if self._person.address:
            sent.append(("X-Forwarded-For", self._person.address))
        method = "POST" if content else "GET"
        at, began = time.time() - self._part.begins, time.perf_counter()
        reply, fault = None, ""
        try:
            reply = await self._line.ask(method, self._part.place.root + path, sent, content)
            fault = unexpected(kind, reply)
        except (OSError, EOFError, TimeoutError, ValueError) as error:
            fault = type(error).__name__
        took = time.perf_counter() - began
        status, later = (0, None) if reply is None else (reply.status, reply.retry_after)
        self._samples.append(Sample(kind, at, took, status, later, fault))
        return reply
