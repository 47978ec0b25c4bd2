"""``python -m bench admin``: what administrators ask at a big event, in CPU time and in pauses of the reactor."""

from __future__ import annotations

import asyncio
import json
import statistics
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import msgspec

from bench.crowd import SIZE, Crowd, gather
from bench.event import flag_of
from bench.goals import Goal
from bench.load import request
from bench.server import Server, daemon
from bench.watch import Answer, Line, Meter, longest_silence, silence_at_rest
from ctfd_twisted.db.engine import Engines, open_engines
from ctfd_twisted.db.migrate import migrate

#: Milliseconds of CPU, of server and database together.
LIST, NUMBERS = 50, 500
#: Milliseconds in which the reactor does nothing else.
PAUSE = 50
#: So often each row is asked after a solve, and so often again.
COLD, WARM, PAUSES = 3, 10, 3
_JSON = ("Content-Type", "application/json")
HEADER = f"{'':<44}{'bytes':>9}{'CPU ms':>9}{'again':>8}{'goal':>6}{'pause ms':>10}{'goal':>6}"


class Row(msgspec.Struct, frozen=True):
    """A path, and what its answer may cost in milliseconds of CPU."""

    path: str
    goal: float = LIST


class Cost(msgspec.Struct, frozen=True):
    """Milliseconds: of CPU for the answer after a solve and for the same again, and the reactor's longest pause."""

    size: int
    cold: float
    warm: float
    pause: float


def rows(crowd: Crowd) -> Iterator[Row]:
    """Every list for administrators: first page, a late one, a search; and all statistics."""
    size = crowd.size
    users, teams, submissions = (f"/api/v1/{kind}" for kind in ("users?view=admin", "teams?view=admin", "submissions"))
    attempts = size.solves + size.wrong
    for path in (
        users,
        f"{users}&page={size.users // 50 - 1}",
        f"{users}&field=name&q=player99",
        f"{users}&field=email&q=nobody",
        teams,
        f"{teams}&page={size.teams // 50 - 1}",
        f"{teams}&field=name&q=team%2099",
        submissions,
        f"{submissions}?page={attempts // 20 - 1}",
        f"{submissions}?type=correct",
        f"{submissions}?type=correct&page={size.solves // 20 - 1}",
        f"{submissions}?type=incorrect&page=2",
        f"{submissions}?challenge_id=7",
        f"{submissions}?team_id=7",
        f"{submissions}?field=provided&q=flag%7B7%7D",
        f"{submissions}?field=ip&q=203.0.113.7",
        "/api/v1/challenges?view=admin",
        "/api/v1/challenges/7",
        "/api/v1/challenges/7/solves",
        "/api/v1/challenges/7/ratings",
        "/api/v1/users/7",
        "/api/v1/users/7/solves",
        "/api/v1/users/7/fails",
        "/api/v1/teams/7",
        "/api/v1/teams/7/solves",
        "/api/v1/teams/7/fails",
        "/api/v1/awards",
        "/api/v1/unlocks",
        "/api/v1/comments",
        "/api/v1/comments?page=90",
        "/api/v1/notifications",
        "/api/v1/flags",
        "/api/v1/hints",
        "/api/v1/tags",
        "/api/v1/topics",
        "/api/v1/files",
        "/api/v1/tokens",
        "/api/v1/configs",
        "/api/v1/pages",
        "/api/v1/scoreboard",
        "/api/v1/scoreboard/top/10",
        "/api/v1/webhooks",
        "/users?page=150",
        "/teams?page=40",
        "/scoreboard",
        "/admin/statistics",
        "/admin/koth",
        "/admin/webhooks",
    ):
        yield Row(path)
    for name in (
        "users",
        "teams",
        "users/country",
        "users/verified",
        "users/bracket_id",
        "submissions/type",
        "submissions/challenge_id",
        "submissions/user_id",
        "submissions/ip",
        "submissions/provided",
        "submissions/id",
        "challenges/category",
        "challenges/category?function=sum&target=value",
        "challenges/solves",
        "challenges/solves/percentages",
        "scores/distribution",
        "progression/matrix",
    ):
        yield Row(f"/api/v1/statistics/{name}", NUMBERS)


def measure(folder: Path, database: str | None, only: str) -> list[Goal]:
    """Measure and print; raises ``SystemExit`` where an answer was no good one."""
    url = database or f"sqlite:///{folder}/bench.sqlite"
    engines = open_engines(url)
    print("making a big event ...", flush=True)
    migrate(engines.write_engine)
    crowd = gather(engines.write_engine, SIZE)
    costs: list[tuple[Row, Cost]] = []
    with ExitStack() as stack:
        stack.callback(engines.close)
        platform = stack.enter_context(Server(daemon(folder, url), folder / "platform.log"))
        size = crowd.size
        print(f"{engines.dialect}: {size.users} users, {size.teams} teams, {size.challenges} challenges,", end=" ")
        print(f"{size.solves} solves, {size.wrong} wrong answers")
        print(f"longest pause while nothing is asked: {asyncio.run(silence_at_rest(platform.port)) * 1000:.1f} ms")
        print(HEADER, flush=True)
        administrator = Administrator(platform, engines, crowd)
        for row in rows(crowd):
            if only in row.path:
                costs.append((row, asyncio.run(administrator.cost(row))))
                _print(*costs[-1])
        print(f"memory after {platform.memory_mb:.0f} MB")
    return summary(costs)


def summary(costs: Sequence[tuple[Row, Cost]]) -> list[Goal]:
    """The dearest of those rows that have the same goal, and the longest pause, each with its path."""
    goals = []
    for what, goal in (("list", LIST), ("statistics", NUMBERS)):
        alike = [(cost.cold, row.path) for row, cost in costs if row.goal == goal]
        if alike:
            dearest, path = max(alike)
            goals.append(Goal(f"dearest {what} for administrators, CPU: {path}", goal, dearest, "ms"))
    if costs:
        longest, path = max((cost.pause, row.path) for row, cost in costs)
        goals.append(Goal(f"longest pause by administrators: {path}", PAUSE, longest, "ms"))
    return goals


def _print(row: Row, cost: Cost) -> None:
    missed = cost.cold > row.goal or cost.pause > PAUSE
    print(
        f"{row.path:<44.44}{cost.size:>9}{cost.cold:>9.1f}{cost.warm:>8.1f}{row.goal:>6.0f}{cost.pause:>10.1f}{PAUSE:>6}"
        f"{'  missed' if missed else ''}",
        flush=True,
    )


class Administrator:
    """Asks the platform, while players go on solving."""

    def __init__(self, platform: Server, engines: Engines, crowd: Crowd) -> None:
        self._port = platform.port
        self._meter = Meter(platform.pid, engines)
        self._crowd = crowd
        self._unsolved = iter(crowd.event.unsolved)

    async def cost(self, row: Row) -> Cost:
        """What the answer to *row* costs."""
        wanted = request("GET", row.path, (("Authorization", f"Token {self._crowd.token}"), _JSON))
        cold = []
        async with Line(self._port) as line:
            first = await line.ask(wanted)
            if first.status != 200:  # noqa: PLR2004 - the one good status
                raise SystemExit(f"{row.path} was answered {first.status}: {first.body[:300]!r}")
            self._meter.find()
            for _ in range(COLD):
                await self._solve(line)
                cold.append(await self._metered(line, wanted, 1))
            warm = await self._metered(line, wanted, WARM)
        pauses = []
        for _ in range(PAUSES):
            async with Line(self._port) as line:
                await self._solve(line)
            pauses.append(await longest_silence(self._port, wanted))
        return Cost(len(first.body), statistics.median(cold) * 1000, warm * 1000, min(pauses) * 1000)

    async def _metered(self, line: Line, wanted: bytes, times: int) -> float:
        self._meter.settle()
        before = self._meter.used
        for _ in range(times):
            await line.ask(wanted)
        self._meter.settle()
        return (self._meter.used - before) / times

    async def _solve(self, line: Line) -> Answer:
        user, challenge_id = next(self._unsolved)
        body = json.dumps({"challenge_id": challenge_id, "submission": flag_of(challenge_id)}).encode()
        headers = (("Authorization", f"Token {self._crowd.event.tokens[user]}"), _JSON)
        answer = await line.ask(request("POST", "/api/v1/challenges/attempt", headers, body))
        if b'"correct"' not in answer.body:
            raise SystemExit(f"a right answer was answered {answer.body[:300]!r}")
        return answer
