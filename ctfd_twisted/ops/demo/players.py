"""Scripted players: they read challenges, guess, solve, and take the hill from each other."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urljoin

import msgspec
from treq.client import HTTPClient

#: A player's pause between two deeds, in seconds, at least and at most.
PAUSE = (1.5, 6.0)


class Refused(Exception):
    """The platform did not do what the demonstration asked of it."""


class Api:
    """The platform's REST API for one access token."""

    def __init__(self, http: HTTPClient, base: str, token: str) -> None:
        self._http = http
        self._base = base
        self._headers: dict[bytes | str, bytes | str] = {
            "Authorization": f"Token {token}",
            "Content-Type": "application/json",
        }

    async def call(self, method: str, path: str, body: object = None) -> Any:
        """One call; its ``data``. Raises ``Refused`` with the answer."""
        data = None if body is None else msgspec.json.encode(body)
        url = urljoin(self._base, f"/api/v1{path}")
        response = await self._http.request(method, url, headers=self._headers, data=data, timeout=20)
        content = await response.content()
        if response.code not in {200, 429}:
            raise Refused(f"{method} {path}: {response.code} {content[:300]!r}")
        return msgspec.json.decode(content).get("data")


class Stage(msgspec.Struct, frozen=True):
    """Where the players play: right answers by challenge id, the hill, and the application on it."""

    answers: dict[int, str]
    hill_id: int
    target: str


class ScriptedPlayer:
    """One player: now and then a guess, sometimes the right one, sometimes the hill."""

    def __init__(self, api: Api, http: HTTPClient, name: str, stage: Stage, chance: random.Random) -> None:
        self._api = api
        self._http = http
        self._name = name
        self._stage = stage
        self._chance = chance
        self._unsolved = list(stage.answers)

    @property
    def pause(self) -> float:
        """Seconds until the next deed."""
        return self._chance.uniform(*PAUSE)

    async def act(self, say: Callable[[str], None]) -> None:
        """One deed, told to *say*."""
        if self._unsolved and self._chance.random() < 0.7:  # noqa: PLR2004 - how this player is
            await self._answer(say)
        else:
            await self._take_hill(say)

    async def _answer(self, say: Callable[[str], None]) -> None:
        challenge_id = self._chance.choice(self._unsolved)
        knows = self._chance.random() < 0.5  # noqa: PLR2004 - how this player is
        text = self._stage.answers[challenge_id] if knows else f"flag{{{self._chance.randrange(1000)}}}"
        body = {"challenge_id": challenge_id, "submission": text}
        result = await self._api.call("POST", "/challenges/attempt", body)
        if result["status"] in {"correct", "already_solved"}:
            self._unsolved.remove(challenge_id)
        say(f"{self._name:<9} challenge {challenge_id}: {result['status']}")

    async def _take_hill(self, say: Callable[[str], None]) -> None:
        detail = await self._api.call("GET", f"/challenges/{self._stage.hill_id}")
        response = await self._http.post(
            self._stage.target, data={"text": detail["koth"]["token"]}, allow_redirects=False
        )
        await response.content()
        say(f"{self._name:<9} takes the hill")


def names(count: int) -> Sequence[str]:
    """Names of *count* players."""
    known = ("ada", "grace", "alan", "edsger", "barbara", "donald", "margaret", "ken", "radia", "dennis")
    return [known[number % len(known)] + ("" if number < len(known) else str(number)) for number in range(count)]
