"""What every agent must hold to: ours, started by twistd, and the fake one that a hundred tests believe.

Each is asked over a socket, byte for byte and through the platform's own client.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import msgspec
import pytest
import treq
from twisted.web.client import Agent, HTTPConnectionPool

from ctfd_twisted.koth.client import HillClient
from ctfd_twisted.koth.protocol import Evidence, signature
from ctfd_twisted.koth.reach import Network
from ctfd_twisted.testing.fake_agent import FakeAgent
from ctfd_twisted.testing.hills import hill_settings
from tests.integration.agent.conftest import TWISTD, start
from tests.integration.webhooks.conftest import listening, spin, threads
from tests.integration.webhooks.network import Spin, reactor, site

__all__ = ("listening", "spin", "start", "threads")

KEY = "open sesame"


class Given(Protocol):
    """An agent as a test arranges it."""

    port: int

    def owns(self, owner: str | None) -> None:
        """Let *owner* hold the hill; None: let nobody be able to tell."""

    def sickens(self) -> None:
        """Let the health check fail."""


class Fake:
    """The fake agent behind a port."""

    def __init__(self, listening: Callable[..., int], key: str | None) -> None:
        self._agent = FakeAgent(None, key=key)
        self.port = listening(site(self._agent))

    def owns(self, owner: str | None) -> None:
        self._agent.owner = owner

    def sickens(self) -> None:
        self._agent.healthy = False


class Real:
    """Ours, in a process of its own."""

    def __init__(self, start: Callable[..., Any], folder: Path, key: str | None) -> None:
        self._owner, self._healthy = folder / "owner.txt", folder / "healthy"
        self._healthy.touch()
        options = ["-file", "owner.txt", "-health-cmd", "test -f healthy"]
        environment = {} if key is None else {"KOTHAGENT_APIKEY": key}
        self.port = start(*options, command=TWISTD, environment=environment).port

    def owns(self, owner: str | None) -> None:
        if owner is None:
            self._owner.unlink(missing_ok=True)
        else:
            self._owner.write_text(owner)

    def sickens(self) -> None:
        self._healthy.unlink()


Make = Callable[..., Given]


@pytest.fixture(params=["fake", "real"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    """``make(key=None)``: one kind of agent in turn."""
    tool = request.getfixturevalue("listening" if request.param == "fake" else "start")

    def given(key: str | None = None) -> Given:
        return Fake(tool, key) if request.param == "fake" else Real(tool, tmp_path, key)

    return given


class Reply(msgspec.Struct, frozen=True):
    status: int
    headers: Mapping[str, str]
    body: bytes


Ask = Callable[..., Reply]


@pytest.fixture
def ask(spin: Spin) -> Ask:
    """``ask(agent, path, method="GET", **headers)``, an underscore in a header's name being a hyphen."""

    def send(agent: Given, path: str, method: str = "GET", **headers: str) -> Reply:
        async def exchange() -> Reply:
            client = treq.client.HTTPClient(Agent(reactor, pool=HTTPConnectionPool(reactor, persistent=False)))
            named: Any = {name.replace("_", "-"): value for name, value in headers.items()}
            response: Any = await client.request(method, f"http://127.0.0.1:{agent.port}{path}", headers=named)
            shown = {name.decode().lower(): values[0].decode() for name, values in response.headers.getAllRawHeaders()}
            return Reply(response.code, shown, await response.content())

        return spin(exchange())  # type: ignore[no-any-return]

    return send


@pytest.fixture
def poll(spin: Spin) -> Callable[..., Evidence]:
    def once(agent: Given, **settings: Any) -> Evidence:
        hill = hill_settings(url=f"http://127.0.0.1:{agent.port}/status", **settings)
        return spin(HillClient(reactor, Network(reactor)).poll(hill))  # type: ignore[no-any-return]

    return once


def test_status_tells_the_owner_as_it_is_at_each_request(make: Make, ask: Ask) -> None:
    agent = make()
    for owner in ("alice", "  alïce\n", ""):
        agent.owns(owner)
        reply = ask(agent, "/status")
        assert (reply.status, reply.body.decode()) == (
            200,
            f'{{"success":true,"data":{{"identifier":"{owner.strip()}"}}}}',
        )
        assert reply.headers["content-type"] == "application/json"


def test_an_owner_that_cannot_be_told_is_500_with_an_empty_identifier(make: Make, ask: Ask) -> None:
    agent = make()
    agent.owns(None)
    reply = ask(agent, "/status")
    assert (reply.status, reply.body) == (500, b'{"success":false,"data":{"identifier":""}}')
    assert reply.headers["content-type"] == "application/json"


def test_the_health_check_tells_both_streams_and_the_status(make: Make, ask: Ask) -> None:
    agent = make()
    reply = ask(agent, "/healthcheck")
    assert (reply.status, reply.body) == (200, b'{"success":true,"data":{"stdout":"","stderr":"","status":0}}')
    agent.sickens()
    reply = ask(agent, "/healthcheck")
    assert (reply.status, reply.body) == (500, b'{"success":false,"data":{"stdout":"","stderr":"","status":1}}')


@pytest.mark.parametrize("path", ["/status", "/healthcheck", "/elsewhere"])
def test_without_the_key_everything_is_401(make: Make, ask: Ask, path: str) -> None:
    agent = make(KEY)
    agent.owns("alice")
    for headers in ({}, {"Authorization": "wrong"}, {"Authorization": "Token wrong"}, {"Authorization": ""}):
        reply = ask(agent, path, **headers)
        assert (reply.status, reply.body.strip()) == (401, b"Unauthorized")
        assert reply.headers["content-type"] == "text/plain; charset=utf-8"


@pytest.mark.parametrize("header", [KEY, f"Token {KEY}", f"token {KEY}"])
def test_the_key_is_taken_bare_or_as_a_token(make: Make, ask: Ask, header: str) -> None:
    agent = make(KEY)
    agent.owns("alice")
    assert ask(agent, "/status", Authorization=header).status == 200


def test_another_path_is_404_and_another_method_405_with_allow(make: Make, ask: Ask) -> None:
    agent = make()
    assert ask(agent, "/elsewhere").status == 404
    reply = ask(agent, "/status", "POST")
    assert (reply.status, "GET" in reply.headers["allow"]) == (405, True)


def test_answers_to_a_nonce_are_signed_with_the_key(make: Make, ask: Ask) -> None:
    agent = make(KEY)
    agent.owns("alice")
    for path in ("/status", "/healthcheck"):
        reply = ask(agent, path, Authorization=KEY, KoTH_Nonce="0123abc")
        assert reply.headers["koth-signature"] == signature(KEY, "0123abc", reply.body)
        assert "koth-signature" not in ask(agent, path, Authorization=KEY).headers


def test_without_a_key_nothing_is_signed(make: Make, ask: Ask) -> None:
    agent = make()
    assert "koth-signature" not in ask(agent, "/status", KoTH_Nonce="0123abc").headers


def test_the_platform_reads_the_owner_with_the_health_gate_and_the_signatures(
    make: Make, poll: Callable[..., Evidence]
) -> None:
    agent = make(KEY)
    agent.owns("alice")
    evidence = poll(agent, api_key=KEY, health_gate=True)
    assert (evidence.owners, evidence.signed, evidence.failure) == (("alice", "alice"), True, None)
    agent.sickens()
    assert poll(agent, api_key=KEY, health_gate=True).failure == "unhealthy"
    assert poll(agent, api_key=KEY).owners == ("alice",)
    assert poll(agent, api_key="wrong").failure == "unauthorized"
    assert poll(agent).failure == "unauthorized"


def test_the_platform_takes_an_owner_that_cannot_be_told_for_nobody(make: Make, poll: Callable[..., Evidence]) -> None:
    agent = make()
    agent.owns(None)
    evidence = poll(agent)
    assert (evidence.owners, evidence.failure, evidence.status) == (("",), None, 500)
