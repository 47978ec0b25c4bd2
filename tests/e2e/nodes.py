"""Several nodes over one PostgreSQL, as real processes, and what is asked of all of them."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import Self

import requests
from organiser import set_up
from prometheus_client.parser import text_string_to_metric_families
from running import Person, PlatformProcess, Running, eventually

KEY = "the key that all nodes share"
METRICS = ("--metrics", "tcp:0:interface=127.0.0.1")


class Node(PlatformProcess):
    """One of several nodes, which tells its figures."""

    def __init__(self, folder: Path, database: str, *options: str) -> None:
        folder.mkdir()
        super().__init__(folder, database, *METRICS, *options, SECRET_KEY=KEY)

    def begin(self) -> None:
        """Start it, and do not wait until it is ready."""
        Running.start(self)

    def readiness(self) -> tuple[int, str]:
        """What ``/readyz`` answers."""
        answer = requests.get(f"{self.base}/readyz", timeout=20)
        return answer.status_code, answer.text

    def figure(self, name: str, **labels: str) -> float:
        """The sum of all samples of that name and those labels."""
        url = self.wait_for(r"Figures for Prometheus on (\S+)")[1]
        families = text_string_to_metric_families(requests.get(url, timeout=20).text)
        return sum(
            one.value
            for family in families
            for one in family.samples
            if one.name == name and labels.items() <= one.labels.items()
        )

    @property
    def polls(self) -> bool:
        """Whether it polls the hills."""
        return self.figure("ctfplatform_polls_hills") == 1


@contextmanager
def ended(nodes: Sequence[Node]) -> Iterator[None]:
    """Whatever happens, none of *nodes* is left."""
    try:
        yield
    finally:
        for node in nodes:
            if hasattr(node, "process"):
                node.kill()


@contextmanager
def started(folder: Path, database: str, count: int, *options: str) -> Iterator[list[Node]]:
    """*count* nodes that are ready."""
    nodes = [Node(folder / f"node{number}", database, *options) for number in range(1, count + 1)]
    with ended(nodes):
        for node in nodes:
            node.begin()
        for node in nodes:
            node.wait_for(r"\bReady\b")
        yield nodes


def leader(nodes: Sequence[Node]) -> Node:
    """The one that polls the hills, when there is one."""
    return eventually(lambda: next((node for node in nodes if node.polls), None), "a node polls")


class Event:
    """A competition of many challenges, with an administrator and players."""

    def __init__(self, node: Node, challenges: int, players: int) -> None:
        self.token = set_up(node)
        admin = self.admin(node)
        self.challenges = [self._challenge(admin, number) for number in range(challenges)]
        self.players = [self._player(node, admin, f"player{number}") for number in range(players)]

    def admin(self, node: Node) -> Person:
        """The administrator, on *node*."""
        return Person(node, self.token)

    def _challenge(self, admin: Person, number: int) -> int:
        body = {"name": f"c{number}", "category": "c", "value": 10, "type": "standard", "state": "visible"}
        challenge: int = admin.call("POST", "/challenges", body)["id"]
        admin.call("POST", "/flags", {"challenge_id": challenge, "type": "static", "content": f"flag{{{challenge}}}"})
        return challenge

    def _player(self, node: Node, admin: Person, name: str) -> str:
        account = {"name": name, "email": f"{name}@example.org", "password": f"{name}-pw", "verified": True}
        admin.call("POST", "/users", account)
        browser = Person(node)
        browser.submit("/login", name=name, password=f"{name}-pw")
        return str(browser.call("POST", "/tokens", {})["value"])

    def solves(self, node: Node) -> set[tuple[str, int]]:
        """Who has solved what, as *node* tells each of them."""
        return {
            (player, challenge["id"])
            for player in self.players
            for challenge in Person(node, player).call("GET", "/challenges")
            if challenge["solved_by_me"]
        }


class Rush:
    """Every player solves every challenge, each time on the next node, as behind a proxy; who is refused asks again."""

    def __init__(self, event: Event, nodes: Sequence[Node]) -> None:
        self._event = event
        self._bases = [node.base for node in nodes]
        self._over = threading.Event()
        #: What was answered to be right.
        self.accepted: set[tuple[str, int]] = set()
        #: Statuses of other answers, with ``Retry-After``.
        self.refused: list[tuple[int, str | None]] = []
        #: How often nobody answered.
        self.unanswered = 0
        self._threads = [threading.Thread(target=self._play, args=(player,)) for player in event.players]

    def _play(self, player: str) -> None:
        turns = cycle(self._bases)
        for challenge in self._event.challenges:
            while not self._over.is_set():
                status = self._try(next(turns), player, challenge)
                if status == "correct":
                    self.accepted.add((player, challenge))
                if status in {"correct", "already_solved"}:
                    break
                self._over.wait(0.2)

    def _try(self, base: str, player: str, challenge: int) -> str | None:
        headers = {"Authorization": f"Token {player}", "Content-Type": "application/json"}
        body = json.dumps({"challenge_id": challenge, "submission": f"flag{{{challenge}}}"})
        try:
            answer = requests.post(f"{base}/api/v1/challenges/attempt", data=body, headers=headers, timeout=30)
        except requests.RequestException:
            self.unanswered += 1
            return None
        if answer.status_code != 200:
            self.refused.append((answer.status_code, answer.headers.get("Retry-After")))
            return None
        return str(answer.json()["data"]["status"])

    def wait_for(self, count: int) -> None:
        """Wait until so many answers were right."""
        eventually(lambda: len(self.accepted) >= count, f"{count} solves")

    def finish(self) -> None:
        """Wait until everybody has solved everything."""
        eventually(lambda: not any(thread.is_alive() for thread in self._threads), "everything is solved")

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()
