"""Links in mails: they confirm an address, or replace a password; each once, for half an hour."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator

import pytest
from sqlalchemy import delete, select

from ctfd_twisted.accounts.keys import Keys
from ctfd_twisted.accounts.tables import users
from ctfd_twisted.mail.sealing import Sealer
from ctfd_twisted.mail.tables import outbox
from ctfd_twisted.settings import MailServer
from ctfd_twisted.testing import Client, MemoryPlatform, Reply

SignUp = Callable[..., Client]
JSON = {"content_type": "application/json"}
NEW = {"name": "eve", "email": "eve@example.org", "password": "secret"}
SENT = "If that account exists you will receive an email, please check your inbox"


@pytest.fixture
def platform() -> Iterator[MemoryPlatform]:
    platform = MemoryPlatform(mail=MailServer("mail.example", 25, "ctf@example.org")).setup()
    yield platform
    platform.close()


def said(reply: Reply) -> list[str]:
    assert reply.status == 200, reply.body
    return [html.unescape(text) for text in re.findall(r'role="(?:alert|status)"><span>(.*?)</span>', reply.text)]


def letters(platform: MemoryPlatform) -> list[tuple[str, str, str]]:
    """Recipient, subject and link of every letter that is owed; they are forgotten then."""
    sealer = Sealer(Keys(platform.settings.secret_key).mail_key())
    found = platform.run(lambda conn: conn.execute(select(outbox).order_by(outbox.c.id)).all())
    platform.run(lambda conn: conn.execute(delete(outbox)))
    return [
        (row.recipient, row.subject, re.findall(r"http://ctf\.example(/\S*)", str(sealer.open(row.body)))[0])
        for row in found
    ]


def send(client: Client, path: str, **fields: str) -> Reply:
    nonce = re.search(r"csrfNonce': \"([0-9a-f]{64})", client.get("/login").text)
    assert nonce is not None
    return client.request("POST", path, data={"nonce": nonce[1], **fields})


def verified(platform: MemoryPlatform) -> bool:
    wanted = select(users.c.verified).where(users.c.name == "eve")
    return bool(platform.run(lambda conn: conn.scalar(wanted)))


@pytest.fixture
def eve(platform: MemoryPlatform) -> Client:
    """Somebody who has registered where addresses must be confirmed."""
    platform.configure(verify_emails=True)
    client = platform.client()
    assert client.submit("/register", **NEW).location == "/confirm"
    return client


def test_a_registration_is_followed_by_a_link_that_confirms(platform: MemoryPlatform, eve: Client) -> None:
    ((recipient, subject, link),) = letters(platform)
    assert (recipient, subject) == ("eve@example.org", "Confirm your account for Test CTF")
    assert not verified(platform)
    assert eve.get("/api/v1/tokens", **JSON).status == 403
    assert eve.get(link).location == "/challenges"
    assert verified(platform)
    assert eve.get("/api/v1/tokens", **JSON).status == 200
    assert [subject for _, subject, _ in letters(platform)] == ["Successfully registered for Test CTF"]
    assert eve.get(link).location == "/settings"
    assert letters(platform) == []


@pytest.mark.usefixtures("eve")
def test_a_link_works_for_whoever_holds_it(platform: MemoryPlatform) -> None:
    link = letters(platform)[0][2]
    assert platform.client().get(link).location == "/login"
    assert verified(platform)


def test_a_link_lives_half_an_hour_and_dies_with_the_address(platform: MemoryPlatform, eve: Client) -> None:
    invalid = ["Your confirmation link is invalid, please generate a new one"]
    link = letters(platform)[0][2]
    assert said(eve.get("/confirm/x")) == said(eve.get(link + "x")) == invalid
    platform.clock.advance(1801)
    assert said(eve.get(link)) == invalid
    assert said(send(eve, "/confirm")) == ["Confirmation email sent to eve@example.org!"]
    link = letters(platform)[0][2]
    eve.patch("/api/v1/users/me", {"email": "new@example.org", "confirm": "secret"})
    assert said(eve.get(link)) == invalid
    assert not verified(platform)


def test_a_link_that_confirms_dies_with_the_password(platform: MemoryPlatform, eve: Client) -> None:
    link = letters(platform)[0][2]
    assert eve.patch("/api/v1/users/me", {"password": "another", "confirm": "secret"}).status == 200
    assert said(eve.get(link)) == ["Your confirmation link is invalid, please generate a new one"]
    assert not verified(platform)
    send(eve, "/confirm")
    assert eve.get(letters(platform)[0][2]).location == "/challenges"


def test_where_mail_servers_follow_links_a_button_confirms() -> None:
    platform = MemoryPlatform(mail=MailServer("mail.example", 25, "ctf@example.org"), confirmation_button=True)
    platform.setup(verify_emails=True)
    eve = platform.client()
    eve.submit("/register", **NEW)
    link = letters(platform)[0][2]
    assert f'href="{link}?interaction=1"' in eve.get(link).text
    assert not verified(platform)
    assert eve.get(f"{link}?interaction=1").location == "/challenges"
    assert verified(platform)
    assert said(eve.get("/confirm/x")) == ["Your confirmation link is invalid, please generate a new one"]
    platform.close()


def test_the_page_is_for_those_who_have_to_confirm(platform: MemoryPlatform, eve: Client) -> None:
    assert "sent a link to <strong>eve@example.org</strong>" in eve.get("/confirm").text
    assert "send a link to <strong>eve@example.org</strong>" in eve.get("/confirm?flow=init").text
    assert platform.client().get("/confirm").location == "/login"
    eve.get(letters(platform)[0][2])
    assert eve.get("/confirm").location == send(eve, "/confirm").location == "/settings"
    platform.configure(mail_server="half", verify_emails=False)
    assert eve.get("/confirm").location == "/challenges"
    platform.configure(verify_emails=True)
    assert said(eve.get("/confirm")) == [
        "Email verification is enabled but email sending isn't available. "  # noqa: ISC004 - one sentence
        "Please contact an admin to confirm your account"
    ]


def test_the_eleventh_link_in_a_minute_waits(eve: Client) -> None:
    for _ in range(10):
        assert send(eve, "/confirm").status == 200
    assert send(eve, "/confirm").status == 429


def test_a_registration_with_a_place_to_go_on_to_is_sent_the_link_too(platform: MemoryPlatform) -> None:
    platform.configure(verify_emails=True)
    client = platform.client()
    data = {"nonce": client.nonce, **NEW}
    assert client.request("POST", "/register", data=data, params={"next": "/scoreboard"}).location == "/scoreboard"
    assert len(letters(platform)) == 1


def test_a_forgotten_password_is_replaced_by_a_link(platform: MemoryPlatform, browser: SignUp) -> None:
    bob = browser("bob")
    visitor = platform.client()
    assert said(send(visitor, "/reset_password", email=" bob@example.org ")) == [SENT]
    ((recipient, subject, link),) = letters(platform)
    assert (recipient, subject) == ("bob@example.org", "Password reset request from Test CTF")
    assert send(visitor, link, password="new password").location == "/login"
    assert [subject for _, subject, _ in letters(platform)] == ["Password changed for Test CTF"]
    assert bob.get("/api/v1/users/me", **JSON).status in {401, 403}
    assert visitor.submit("/login", name="bob", password="new password").status == 302
    assert said(visitor.get(link)) == ["Your reset link is invalid, please generate a new one"]


def test_an_unknown_address_is_answered_alike_and_nobody_is_written_to(
    platform: MemoryPlatform, browser: SignUp
) -> None:
    browser("bob")
    for email in ("nobody@example.org", "BOB@example.org", "", "x"):
        assert said(send(platform.client(), "/reset_password", email=email)) == [SENT]
    assert letters(platform) == []
    assert send(platform.client(), "/reset_password").status == 400


def test_an_account_of_a_provider_is_told_so(platform: MemoryPlatform) -> None:
    platform.player("oauth", oauth_id=7)
    assert said(send(platform.client(), "/reset_password", email="oauth@example.org"))[0].startswith(
        "Your account was registered with a 3rd party authentication provider."
    )
    assert letters(platform) == []


def test_one_account_is_not_written_to_again_and_again(platform: MemoryPlatform, browser: SignUp) -> None:
    browser("bob")
    for _ in range(5):
        assert said(send(platform.client(), "/reset_password", email="bob@example.org")) == [SENT]
    platform.clock.advance(100)
    assert said(send(platform.client(), "/reset_password", email="bob@example.org")) == [
        "Too many password reset attempts. Please try again later."
    ]
    assert len(letters(platform)) == 5
    assert said(send(platform.client(), "/reset_password", email="other@example.org")) == [SENT]
    platform.clock.advance(181)
    assert said(send(platform.client(), "/reset_password", email="bob@example.org")) == [SENT]


def test_without_mail_one_is_told_whom_to_ask(platform: MemoryPlatform) -> None:
    platform.configure(mail_server="half")
    for reply in (platform.client().get("/reset_password"), send(platform.client(), "/reset_password", email="a@b.co")):
        assert said(reply) == [
            "Password resets by email are not configured. Please ask the organisers for a new password."
        ]
