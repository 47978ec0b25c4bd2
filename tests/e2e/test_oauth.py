"""Signing in with a provider that speaks like MajorLeagueCyber: two processes, sockets, both databases."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from running import PlatformProcess, Running
from sqlalchemy import create_engine, text

from ctfd_twisted.testing.oauth import CLIENT, a_person, endpoints

AWAY = "MajorLeagueCyber does not answer at the moment. Please try again later."
TOKEN_FAILED = "OAuth token retrieval failure."
ADMIN = {"name": "admin", "email": "admin@example.org", "password": "a long password"}


class League(Running):
    """The provider, as a process of its own."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            [sys.executable, "-m", "ctfd_twisted.testing.oauth", "http://nowhere.invalid/"], folder / "league"
        )

    def start(self) -> Self:
        """Start it and wait until it listens."""
        super().start()
        self.base = self.wait_for(r"Provider at (http://\S+)")[1]
        return self

    def set(self, **attributes: Any) -> dict[str, list[Any]]:
        """Change the provider, and learn what it was asked."""
        told: dict[str, list[Any]] = requests.post(f"{self.base}/control", json=attributes, timeout=20).json()
        return told


@pytest.fixture
def league(tmp_path: Path) -> Iterator[League]:
    with League(tmp_path) as running:
        yield running


@pytest.fixture
def platform(tmp_path: Path, database_url: str, league: League) -> Iterator[PlatformProcess]:
    environment = {name.upper(): value for name, value in endpoints(league.base).items()}
    with PlatformProcess(tmp_path, database_url, **environment) as running:
        league.set(
            callback=f"{running.base}/redirect",
            people={name: a_person(number, name, (70, "Lovelaces")) for number, name in enumerate(("ada", "bob"), 7)},
        )
        Visitor(running).set_up()
        yield running


class Visitor:
    """Somebody's browser, with the pages of both sides."""

    def __init__(self, platform: PlatformProcess) -> None:
        self.base = platform.base
        self.session = requests.Session()
        self.go("/login")  # where the button is, and where the session begins that the limits count by

    def set_up(self) -> None:
        """Make the competition."""
        nonce = re.search(r"csrfNonce': \"([a-f0-9]{64})\"", self.session.get(f"{self.base}/setup", timeout=20).text)
        assert nonce is not None
        form = {"nonce": nonce[1], "ctf_name": "CTF", "user_mode": "teams", **ADMIN}
        assert self.session.post(f"{self.base}/setup", form, timeout=20).status_code == 200

    def go(self, path: str) -> requests.Response:
        """A page, wherever its redirects lead."""
        return self.session.get(self.base + path, timeout=20)

    def consent(self, who: str, path: str = "/oauth") -> requests.Response:
        """Go to the provider and say that it is *who*; nobody denies."""
        asked = self.go(path)
        state = re.search(r'name="state" value="([^"]*)"', asked.text)
        assert state is not None, asked.text
        there = urlsplit(asked.url)
        form = {"state": unescape(state[1]), "who": who}
        return self.session.post(f"{there.scheme}://{there.netloc}/oauth/consent", form, timeout=20)

    def me(self) -> Any:
        """Who is signed in."""
        answer = self.session.get(
            f"{self.base}/api/v1/users/me", headers={"Content-Type": "application/json"}, timeout=20
        )
        return answer.json()["data"]


def alerts(page: requests.Response) -> list[str]:
    assert urlsplit(page.url).path == "/login"
    return [unescape(said) for said in re.findall(r'alert-danger" role="alert"><span>(.*?)</span>', page.text)]


def counts(url: str, *tables: str) -> list[int]:
    engine = create_engine(url)
    with engine.connect() as conn:
        found = [int(conn.scalar(text(f"SELECT count(*) FROM {table}")) or 0) for table in tables]  # noqa: S608
    engine.dispose()
    return found


def test_two_people_come_with_their_team(platform: PlatformProcess, league: League) -> None:
    ada, bob = Visitor(platform), Visitor(platform)
    arrived = ada.consent("ada", "/oauth?next=%2Fteam")
    assert (arrived.status_code, urlsplit(arrived.url).path) == (200, "/team")
    assert "Lovelaces" in arrived.text
    assert urlsplit(bob.consent("bob").url).path == "/challenges"
    assert (ada.me()["oauth_id"], ada.me()["team_id"]) == (7, bob.me()["team_id"])
    again = Visitor(platform)
    again.consent("ada")
    assert again.me()["id"] == ada.me()["id"]
    assert "Log in" in ada.go("/logout").text
    assert ada.session.get(f"{ada.base}/settings", allow_redirects=False, timeout=20).status_code == 302
    printed = platform.printed
    told = league.set()
    assert len(told["exchanges"]) == 3
    secrets = [CLIENT["client_secret"], *(form["code"] for form in told["exchanges"])]
    secrets += [bearer.removeprefix("Bearer ") for bearer in told["bearers"]]
    assert not [secret for secret in secrets if secret in printed]


def test_one_who_comes_twice_at_once_is_one(platform: PlatformProcess, database_url: str) -> None:
    windows = [Visitor(platform) for _ in range(6)]
    with ThreadPoolExecutor(len(windows)) as threads:
        pages = list(threads.map(lambda window: window.consent("ada"), windows))
    assert [urlsplit(page.url).path for page in pages] == ["/challenges"] * 6
    assert len({window.me()["id"] for window in windows}) == 1
    assert counts(database_url, "users", "teams") == [2, 1]


def test_what_goes_wrong_is_told_on_the_login_page(
    platform: PlatformProcess, league: League, database_url: str
) -> None:
    assert alerts(Visitor(platform).consent("")) == ["Received redirect without OAuth code."]
    visitor = Visitor(platform)
    arrived = visitor.consent("ada")
    way = urlsplit(next(step.headers["Location"] for step in arrived.history if "code=" in step.headers["Location"]))
    code = parse_qs(way.query)["code"][0]
    stranger = Visitor(platform)
    assert alerts(stranger.go(f"/redirect?{way.query}")) == ["OAuth State validation mismatch."]
    asked = urlsplit(stranger.go("/oauth").url)
    state = parse_qs(asked.query)["state"][0]
    assert alerts(stranger.go(f"/redirect?code={code}&state={state}")) == [TOKEN_FAILED]
    for fault, said in (
        ("500", [TOKEN_FAILED]),
        ("malformed", [TOKEN_FAILED]),
        ("elsewhere", [TOKEN_FAILED]),
        ("large", [TOKEN_FAILED, AWAY]),
        ("endless", [TOKEN_FAILED, AWAY]),
        ("silent", [TOKEN_FAILED, AWAY]),
    ):
        league.set(faults={"token": fault})
        assert alerts(Visitor(platform).consent("bob")) == said, fault
    for fault in ("500", "malformed", "large", "endless", "nothing"):
        league.set(faults={"user": fault})
        assert alerts(Visitor(platform).consent("bob")) == ["OAuth user retrieval failure.", AWAY], fault
    league.set(faults={})
    league.kill()
    state = parse_qs(urlsplit(_location(stranger, "/oauth")).query)["state"][0]
    assert alerts(stranger.go(f"/redirect?code={code}&state={state}")) == [TOKEN_FAILED, AWAY]
    assert counts(database_url, "users") == [2]
    assert "Traceback" not in platform.printed
    assert stranger.go("/login").status_code == 200


def _location(visitor: Visitor, path: str) -> str:
    return visitor.session.get(visitor.base + path, allow_redirects=False, timeout=20).headers["Location"]
