"""Letters with links, from the form to a mail server over SMTP and back, over both databases; also across a kill -9."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from email import message_from_bytes, policy
from html import unescape
from pathlib import Path

import pytest
import requests
from running import Person, PlatformProcess, eventually
from sqlalchemy import create_engine, text

from tests.integration.mail.conftest import Server

ADMIN = {"name": "admin", "email": "admin@example.org", "password": "a long password"}
EVE = {"name": "eve", "email": "eve@example.org", "password": "first"}
SENT = "If that account exists you will receive an email, please check your inbox"
NewPlatform = Callable[..., PlatformProcess]


@pytest.fixture
def post() -> Iterator[Server]:
    server = Server()
    yield server
    server.stop()


@pytest.fixture
def platform(tmp_path: Path, database_url: str, post: Server) -> Iterator[NewPlatform]:
    """``platform(*options)``: a platform over the one database whose mail goes to the server; each begins anew."""
    started: list[PlatformProcess] = []

    def start(*options: str) -> PlatformProcess:
        mail = {"MAIL_SERVER": "127.0.0.1", "MAIL_PORT": str(post.port), "MAILFROM_ADDR": "ctf@example.org"}
        running = PlatformProcess(tmp_path, database_url, *options, **mail)
        started.append(running)
        return running.start()

    yield start
    for running in started:
        running.stop()


def set_up(platform: PlatformProcess) -> Person:
    admin = Person(platform)
    admin.submit("/setup", ctf_name="Harbour CTF", user_mode="users", verify_emails="true", **ADMIN)
    return admin


def letter(post: Server, number: int) -> tuple[str, str, str]:
    """Recipient, subject and link of the letter with this number, which may be on its way."""
    eventually(lambda: len(post.mailbox.envelopes) >= number, f"letter {number}")
    envelope = post.mailbox.envelopes[number - 1]
    message = message_from_bytes(envelope.content, policy=policy.default)
    assert message["From"] == "Harbour CTF <ctf@example.org>"
    body = message.get_body()
    assert body is not None
    found = re.search(r"http://127\.0\.0\.1:\d+(/\S*)", body.get_content())
    assert found is not None
    return envelope.rcpt_tos[0], message["Subject"], found[1]


def owed(url: str) -> int:
    engine = create_engine(url)
    with engine.connect() as conn:
        count = int(conn.scalar(text("SELECT count(*) FROM ctfp_mail")) or 0)
    engine.dispose()
    return count


def said(page: requests.Response) -> list[str]:
    return [unescape(found) for found in re.findall(r'role="(?:alert|status)"><span>(.*?)</span>', page.text)]


def test_an_address_is_confirmed_once_by_its_owner(platform: NewPlatform, post: Server) -> None:
    running = platform()
    set_up(running)
    eve = Person(running)
    assert eve.submit("/register", **EVE).url.endswith("/confirm")
    recipient, subject, link = letter(post, 1)
    assert (recipient, subject) == ("eve@example.org", "Confirm your account for Harbour CTF")
    assert eve.page("/challenges").url.endswith("/confirm")
    assert said(eve.submit("/confirm")) == ["Confirmation email sent to eve@example.org!"]
    another = letter(post, 2)[2]
    invalid = ["Your confirmation link is invalid, please generate a new one"]
    assert said(eve.page(link[:-1])) == said(eve.page("/confirm/x")) == invalid
    with ThreadPoolExecutor(2) as threads:
        pages = list(threads.map(lambda one: Person(running).page(one).url, (link, another)))
    assert sorted(page.rpartition("/")[2].partition("?")[0] for page in pages) == ["login", "login"]
    assert letter(post, 3)[1] == "Successfully registered for Harbour CTF"
    assert eve.page(link).url.endswith("/settings")
    assert eve.page("/challenges").url.endswith("/challenges")
    assert len(post.mailbox.envelopes) == 3


def test_a_forgotten_password_is_replaced_once_and_nobody_learns_who_is_here(
    platform: NewPlatform, post: Server, database_url: str
) -> None:
    running = platform()
    admin = set_up(running)
    admin.call("POST", "/users", {**EVE, "verified": True})
    eve, stranger = Person(running), Person(running)
    eve.submit("/login", name="eve", password="first")
    answers = [stranger.submit("/reset_password", email=email) for email in ("nobody@example.org", EVE["email"])]
    assert [said(answer) for answer in answers] == [[SENT], [SENT]]
    recipient, subject, link = letter(post, 1)
    assert (recipient, subject) == ("eve@example.org", "Password reset request from Harbour CTF")
    assert said(stranger.submit(link, password=" ")) == ["Please pick a longer password"]
    tries = {f"choice {number}": Person(running) for number in range(4)}
    with ThreadPoolExecutor(len(tries)) as threads:
        pages = dict(zip(tries, threads.map(lambda one: tries[one].submit(link, password=one), tries), strict=True))
    (chosen,) = [password for password, page in pages.items() if page.url.endswith("/login")]
    assert letter(post, 2)[1] == "Password changed for Harbour CTF"
    assert said(stranger.page(link)) == ["Your reset link is invalid, please generate a new one"]
    assert "/login?next=" in eve.page("/settings").url
    assert "incorrect" in said(eve.submit("/login", name="eve", password="first"))[0]
    assert eve.submit("/login", name="eve", password=chosen).url.endswith("/challenges")
    eventually(lambda: owed(database_url) == 0, "an empty outbox")
    assert len(post.mailbox.envelopes) == 2
    for _ in range(4):
        assert said(stranger.submit("/reset_password", email=EVE["email"])) == [SENT]
    too_often = ["Too many password reset attempts. Please try again later."]
    assert said(stranger.submit("/reset_password", email="EVE@example.org")) == too_often
    assert [said(stranger.submit("/reset_password", email="nobody@example.org")) for _ in range(5)][-1] == too_often


def test_what_was_committed_before_a_kill_is_sent_after_it_and_once(
    platform: NewPlatform, post: Server, database_url: str
) -> None:
    without_mail = platform("--roles", "web")
    set_up(without_mail)
    assert Person(without_mail).submit("/register", **EVE).url.endswith("/confirm")
    without_mail.kill()
    assert (owed(database_url), post.mailbox.envelopes) == (1, [])
    running = platform()
    assert letter(post, 1)[0] == "eve@example.org"
    eventually(lambda: owed(database_url) == 0, "an empty outbox")
    running.kill()
    platform().stop()
    assert len(post.mailbox.envelopes) == 1
    assert letter(post, 1)[2].startswith("/confirm/")
