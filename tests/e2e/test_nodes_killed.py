"""The node that polls the hills is killed, or stands still: another goes on, and nothing is lost or done twice."""

from __future__ import annotations

import hashlib
import hmac
import signal
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from nodes import Event, Node, Rush, leader, started
from running import BIN, Receiver, Running, eventually

from tests.conftest import PostgreSQL

pytestmark = pytest.mark.postgresql

CHALLENGES, PLAYERS = 30, 3
#: Seconds within which another node polls.
TAKEN_OVER = timedelta(seconds=10)
#: Seconds for which a node stands still: longer than its lease lasts.
STILL = 15.0


class Game:
    """Three nodes, a competition with a hill that pays 5 points each second, and its king, the first player."""

    def __init__(self, nodes: list[Node], agent: Running) -> None:
        self.nodes = nodes
        self.event = Event(nodes[0], CHALLENGES, PLAYERS)
        port = agent.wait_for(r"Listening on \S+:(\d+)")[1]
        body = {"name": "Hill", "category": "koth", "type": "koth", "interval": 1, "reward": 5, "state": "visible"}
        admin = self.event.admin(nodes[0])
        self.hill = admin.call("POST", "/challenges", {**body, "url": f"http://127.0.0.1:{port}/status"})["id"]
        eventually(lambda: len(self.ticks(nodes[0])) >= 2, "the hill is polled")

    def ticks(self, node: Node) -> list[dict[str, Any]]:
        """Every tick of the hill, the oldest first."""
        found: list[dict[str, Any]] = []
        for page in range(1, 100):
            rows = self.event.admin(node).call("GET", f"/koth/{self.hill}/checks?per_page=100&page={page}")
            found += rows
            if len(rows) < 100:
                break
        return sorted(found, key=lambda tick: int(tick["tick"]))

    def check_ticks(self, node: Node) -> None:
        """No tick is recorded twice or left out, and each that was held has paid once."""
        ticks = self.ticks(node)
        assert [tick["tick"] for tick in ticks] == list(range(len(ticks)))
        assert {tick["outcome"] for tick in ticks} <= {"held", "missed", "unreachable"}
        held = [tick["award_id"] for tick in ticks if tick["outcome"] == "held"]
        awards = [one for one in self.event.admin(node).call("GET", "/awards") if one["type"] == "koth"]
        paid = {award["id"] for award in awards}
        assert set(held) <= paid, "what was held has paid"
        assert len(held) == len(set(held))
        assert Counter(award["description"] for award in awards).most_common(1)[0][1] == 1, "no tick has paid twice"


@pytest.fixture(scope="module")
def game(postgresql: PostgreSQL, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Game]:
    name, folder = postgresql.create(), tmp_path_factory.mktemp("killed")
    (folder / "owner.txt").write_text("player0")
    command: list[str | Path] = [
        BIN / "kothagent",
        "--file",
        folder / "owner.txt",
        "--host",
        "127.0.0.1",
        "--port",
        "0",
    ]
    with Running(command, folder / "agent.log") as agent, started(folder, postgresql.url(name), 3) as nodes:
        yield Game(nodes, agent)
    postgresql.drop(name)


def polled_again(game: Game, node: Node, since: datetime) -> datetime:
    """When the first tick after *since* was due at which the king was found."""

    def look() -> datetime | None:
        dues = [datetime.fromisoformat(tick["due"]) for tick in game.ticks(node) if tick["outcome"] == "held"]
        return min((due for due in dues if due > since), default=None)

    return eventually(look, "another node polls")


def test_a_leader_that_is_killed_under_load(game: Game) -> None:
    victim = leader(game.nodes)
    heirs = [node for node in game.nodes if node is not victim]
    admin = game.event.admin(heirs[0])
    secret = admin.call("GET", "/webhooks/secret")["secret"]
    with Receiver(lambda token: hmac.new(secret.encode(), token.encode(), hashlib.sha256).hexdigest()) as receiver:
        hook = admin.call("POST", "/webhooks", {"url": receiver.url, "events": ["solve.created"]})
        assert admin.call("POST", f"/webhooks/{hook['id']}/validate", {})["state"] == "active"
        with Rush(game.event, game.nodes) as rush:
            rush.wait_for(CHALLENGES * PLAYERS // 3)
            victim.kill()
            killed = datetime.now(UTC)
            rush.finish()
        assert rush.unanswered > 0
        assert polled_again(game, heirs[0], killed) - killed < TAKEN_OVER
        everything = {(player, challenge) for player in game.event.players for challenge in game.event.challenges}
        assert [game.event.solves(node) for node in heirs] == [everything] * 2
        assert rush.accepted <= everything
        eventually(lambda: len(delivered(receiver)) == len(everything), "every solve is told")
        # What the victim had under way it may have told, too, and could not say so: the receiver sees that by the id.
        again = [count for count in delivered(receiver).values() if count > 1]
        assert len(again) <= 8, again
        assert max(delivered(receiver).values()) <= 2
    game.check_ticks(heirs[0])
    victim.start()


def delivered(receiver: Receiver) -> Counter[str]:
    """How often each delivery came, by its id."""
    return Counter(headers["Service-Webhook-Id"] for headers, _ in list(receiver.events))


def test_a_leader_that_stands_still_records_nothing_when_it_wakes(game: Game) -> None:
    sleeper = leader(game.nodes)
    heirs = [node for node in game.nodes if node is not sleeper]
    rows, counted = len(game.ticks(heirs[0])), recorded(sleeper)
    sleeper.process.send_signal(signal.SIGSTOP)
    stopped, since = time.monotonic(), datetime.now(UTC)
    # Until here it was the only one that recorded.
    its_own = len(game.ticks(heirs[0])) - rows
    try:
        assert polled_again(game, heirs[0], since) - since < TAKEN_OVER
        heir = leader(heirs)
        eventually(lambda: time.monotonic() - stopped > STILL, "it stands still", deadline=2 * STILL)
    finally:
        sleeper.process.send_signal(signal.SIGCONT)
    seen = len(game.ticks(heir))
    sleeper.wait_for(r"this node does not poll the hills any more")
    eventually(lambda: len(game.ticks(heir)) > seen + 3, "polling goes on")
    assert heir.polls
    assert not sleeper.polls
    assert recorded(sleeper) <= counted + its_own
    game.check_ticks(heir)
    assert sleeper.readiness() == (200, "OK")


def recorded(node: Node) -> float:
    """How many ticks a node has recorded."""
    return node.figure("ctfplatform_ticks_total")
