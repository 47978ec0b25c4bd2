"""Five nodes that start in the same second on an empty database, and what one of them writes the others show."""

from __future__ import annotations

import hashlib
import hmac
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import psycopg
import pytest
import requests
from nodes import Node, ended
from organiser import set_up
from running import Person, Receiver, eventually

from tests.conftest import PostgreSQL

pytestmark = pytest.mark.postgresql

#: Seconds within which all nodes know what one has written.
SOON = 1.0
WAITING = (503, "Waiting: another process migrates the database or writes to it")


class Five:
    """Five nodes, the token of the administrator, and the challenge that everybody knows."""

    def __init__(self, nodes: list[Node]) -> None:
        self.nodes = nodes
        self.writer, *self.others = nodes
        self.token = set_up(self.writer)
        self.admin = Person(self.writer, self.token)
        self.challenge = self.a_challenge("Warm-up")

    def a_challenge(self, name: str) -> int:
        """A visible challenge with the flag ``flag{<name>}``."""
        body = {"name": name, "category": "misc", "value": 100, "type": "standard", "state": "visible"}
        challenge: int = self.admin.call("POST", "/challenges", body)["id"]
        self.admin.call("POST", "/flags", {"challenge_id": challenge, "type": "static", "content": f"flag{{{name}}}"})
        return challenge

    def a_player(self, name: str) -> tuple[int, str, int]:
        """Somebody new: their id, their token and its id."""
        account = {"name": name, "email": f"{name}@example.org", "password": f"{name}-pw", "verified": True}
        user: int = self.admin.call("POST", "/users", account)["id"]
        browser = Person(self.writer)
        browser.submit("/login", name=name, password=f"{name}-pw")
        token = browser.call("POST", "/tokens", {})
        return user, token["value"], token["id"]

    def on_others(self, token: str | None = None) -> list[Person]:
        """The same person on each of the other nodes."""
        return [Person(node, token) for node in self.others]

    def soon(self, look: Callable[[Person], Any], people: list[Person], what: str) -> None:
        """Each of *people* sees it in time."""
        for person in people:
            eventually(lambda person=person: look(person), what, deadline=SOON)  # type: ignore[misc]


@pytest.fixture(scope="module")
def five(postgresql: PostgreSQL, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Five]:
    """The nodes, begun while somebody keeps the first of them from finishing its migration."""
    name, folder = postgresql.create(), tmp_path_factory.mktemp("five")
    nodes = [Node(folder / f"node{number}", postgresql.url(name)) for number in range(5)]
    with psycopg.connect(postgresql.url(name).replace("+psycopg", "")) as conn, ended(nodes):
        # A table of that name is being made: whoever makes one, too, waits for what becomes of this.
        conn.execute("CREATE TABLE users (id integer)")
        for node in nodes:
            node.begin()
        eventually(lambda: [node.readiness() for node in nodes].count(WAITING) == 4, "four wait and say so")
        conn.rollback()
        for node in nodes:
            node.wait_for(r"\bReady\b")
        yield Five(nodes)
    postgresql.drop(name)


def test_one_of_them_migrates_and_the_others_wait(five: Five) -> None:
    said = [
        tuple(re.findall(r"Created the schema|Waiting: another|is at revision", node.printed)) for node in five.nodes
    ]
    assert sorted(said) == [("Created the schema",), *[("Waiting: another", "is at revision")] * 4]
    assert [node.readiness() for node in five.nodes] == [(200, "OK")] * 5
    assert all("Traceback" not in node.printed for node in five.nodes)


def test_a_solve_is_on_every_scoreboard(five: Five) -> None:
    _, token, _ = five.a_player("ada")
    others = five.on_others(token)
    for person in others:
        assert person.call("GET", "/scoreboard") == []
        assert not person.call("GET", "/challenges")[0]["solved_by_me"]
    body = {"challenge_id": five.challenge, "submission": "flag{Warm-up}"}
    assert Person(five.writer, token).call("POST", "/challenges/attempt", body)["status"] == "correct"
    five.soon(lambda person: [row["score"] for row in person.call("GET", "/scoreboard")] == [100], others, "the score")
    five.soon(lambda person: person.call("GET", "/challenges")[0]["solved_by_me"], others, "the challenge is solved")


def test_a_new_challenge_is_on_every_list(five: Five) -> None:
    _, token, _ = five.a_player("bob")
    others = five.on_others(token)
    before = [len(person.call("GET", "/challenges")) for person in others]
    five.a_challenge("Late")
    five.soon(lambda person: len(person.call("GET", "/challenges")) == before[0] + 1, others, "the new challenge")


def test_who_is_banned_is_banned_everywhere(five: Five) -> None:
    user, token, _ = five.a_player("mallory")
    others = five.on_others(token)
    assert [person.raw("GET", "/challenges").status_code for person in others] == [200] * 4
    five.admin.call("PATCH", f"/users/{user}", {"banned": True})
    five.soon(lambda person: person.page("/api/v1/challenges").status_code == 403, others, "the ban")


def test_a_token_that_was_revoked_is_good_nowhere(five: Five) -> None:
    _, token, number = five.a_player("carol")
    others = five.on_others(token)
    assert [person.raw("GET", "/users/me").status_code for person in others] == [200] * 4
    five.admin.call("DELETE", f"/tokens/{number}")
    five.soon(lambda person: person.raw("GET", "/users/me").status_code == 401, others, "the token's end")


def test_a_setting_is_changed_everywhere(five: Five) -> None:
    others = five.on_others()
    assert all("The event" in person.page("/login").text for person in others)
    five.admin.call("PATCH", "/configs", {"ctf_name": "Another name"})
    five.soon(lambda person: "Another name" in person.page("/login").text, others, "the new name")


def test_five_nodes_deliver_each_webhook_once(five: Five) -> None:
    """All of them look for what is owed, in the same moment: none takes what another has taken."""
    secret = five.admin.call("GET", "/webhooks/secret")["secret"]
    with Receiver(lambda token: hmac.new(secret.encode(), token.encode(), hashlib.sha256).hexdigest()) as receiver:
        hook = five.admin.call("POST", "/webhooks", {"url": receiver.url, "events": ["user.created"]})
        assert five.admin.call("POST", f"/webhooks/{hook['id']}/validate", {})["state"] == "active"
        for number in range(30):
            account = {"name": f"user{number}", "email": f"user{number}@example.org", "password": "a password"}
            Person(five.nodes[number % 5], five.token).call("POST", "/users", account)
        eventually(lambda: len(receiver.events) >= 30, "every event is told")
        five.admin.call("DELETE", f"/webhooks/{hook['id']}")
        ids = [headers["Service-Webhook-Id"] for headers, _ in receiver.events]
    assert len(ids) == len(set(ids)) == 30


class Ear(threading.Thread):
    """Somebody who listens at ``/events`` of a node."""

    def __init__(self, node: Node, token: str) -> None:
        super().__init__(daemon=True)
        self.heard = ""
        headers = {"Authorization": f"Token {token}", "Content-Type": "application/json"}
        self._answer = requests.get(f"{node.base}/events", headers=headers, stream=True, timeout=30)
        assert self._answer.status_code == 200
        self.start()

    def run(self) -> None:
        with suppress(requests.RequestException):  # the node ends, and with it the stream
            for piece in self._answer.iter_content(None):
                self.heard += piece.decode()


def test_a_notification_is_heard_on_every_node(five: Five) -> None:
    _, token, _ = five.a_player("dave")
    ears = [Ear(node, token) for node in five.others]
    eventually(lambda: all(ear.heard for ear in ears), "everybody listens")
    five.admin.call("POST", "/notifications", {"title": "Lunch", "content": "is ready", "type": "toast", "sound": True})
    eventually(lambda: all("Lunch" in ear.heard for ear in ears), "the notification", deadline=SOON)
    five.soon(lambda person: person.call("GET", "/notifications"), five.on_others(token), "the list of notifications")
