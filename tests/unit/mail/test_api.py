"""``POST /api/v1/users/<id>/email`` and ``POST /api/v1/users?notify=``."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import select

from ctfd_twisted.accounts.keys import Keys
from ctfd_twisted.http.site import PlatformSite
from ctfd_twisted.mail.api import MailApi
from ctfd_twisted.mail.rules import Letter, MailStep, Route
from ctfd_twisted.mail.sealing import Sealer
from ctfd_twisted.mail.sender import PATIENT, NotSentError
from ctfd_twisted.mail.tables import outbox
from ctfd_twisted.settings import MailServer
from ctfd_twisted.testing import Client, MemoryPlatform

SERVER = MailServer("mail.example", 25, "ctf@example.org")
EMAIL = "/api/v1/users/1/email"


class Postman:
    """Takes letters, or refuses them with ``refusal``."""

    def __init__(self) -> None:
        self.sent: list[Letter] = []
        self.refusal = ""

    async def send(self, route: Route, sender_name: str, letter: Letter, *, patience: float = PATIENT) -> None:
        assert (route.sender, sender_name, patience) == ("ctf@example.org", "Test CTF", 3.0)
        if self.refusal:
            raise NotSentError(self.refusal)
        self.sent.append(letter)

    async def try_out(self, route: Route, sender_name: str, letter: Letter, *, patience: float) -> tuple[MailStep, ...]:
        try:
            await self.send(route, sender_name, letter, patience=patience)
        except NotSentError as error:
            return (MailStep("compose", ok=True, detail="", ms=0), MailStep("auth", ok=False, detail=str(error), ms=7))
        return (MailStep("message", ok=True, detail="250 OK", ms=5),)


@pytest.fixture
def platform() -> Iterator[MemoryPlatform]:
    platform = MemoryPlatform(mail=SERVER).setup()
    yield platform
    platform.close()


@pytest.fixture
def postman() -> Postman:
    return Postman()


@pytest.fixture
def admin(platform: MemoryPlatform, postman: Postman) -> Client:
    """An administrator, of a platform whose postman is ours."""
    token = platform.admin().token
    api = MailApi(platform.db, postman, SERVER)
    site = PlatformSite(platform.platform.pipeline, [api], lambda call, path: None)  # noqa: ARG005 - never called
    return Client(site.resource(), token)


def test_a_text_is_sent_to_the_user(admin: Client, postman: Postman) -> None:
    assert admin.post(EMAIL, {"text": "Hello"}).json == {"success": True}
    assert postman.sent == [Letter("admin@example.org", "Message from Test CTF", "Hello")]


def test_an_unknown_user_is_not_found(admin: Client) -> None:
    assert admin.post("/api/v1/users/99/email", {"text": "Hello"}).status == 404


@pytest.mark.parametrize("body", [{"text": ""}, {"text": " \n"}, {}])
def test_an_empty_text_is_refused(admin: Client, body: dict[str, str]) -> None:
    reply = admin.post(EMAIL, body)
    assert (reply.status, reply.errors) == (400, {"text": ["Email text cannot be empty"]})


def test_without_a_server_that_is_told_before_the_text_is_looked_at(platform: MemoryPlatform, admin: Client) -> None:
    platform.configure(mail_server="half")
    reply = admin.post(EMAIL, {"text": ""})
    assert (reply.status, reply.errors) == (400, {"": ["Email settings not configured"]})


def test_what_the_server_said_is_told(admin: Client, postman: Postman) -> None:
    postman.refusal = "SMTP server connection timed out"
    reply = admin.post(EMAIL, {"text": "Hello"})
    assert (reply.status, reply.errors) == (400, {"": ["SMTP server connection timed out"]})


def test_players_may_not_and_the_eleventh_in_a_minute_waits(platform: MemoryPlatform, admin: Client) -> None:
    assert platform.player("eve").post(EMAIL, {"text": "x"}).status == 403
    for _ in range(10):
        assert admin.post(EMAIL, {"text": "x"}).status == 200
    reply = admin.post(EMAIL, {"text": "x"})
    assert (reply.status, reply.json["message"]) == (
        429, "Too many requests. Limit is 10 requests in 60 seconds",
    )  # fmt: skip


TEST = "/api/v1/mail/test"


def test_a_test_mail_goes_to_the_one_who_asks_for_it(admin: Client, postman: Postman) -> None:
    assert admin.post(TEST, {}).data == {
        "sent": True,
        "server": "mail.example:25",
        "recipient": "admin@example.org",
        "error": None,
        "steps": [{"step": "message", "ok": True, "detail": "250 OK", "ms": 5}],
    }
    assert [(letter.recipient, letter.subject) for letter in postman.sent] == [
        ("admin@example.org", "Test of mail from Test CTF")
    ]


def test_a_test_mail_goes_to_whom_one_names(admin: Client, postman: Postman) -> None:
    assert admin.post(TEST, {"recipient": "ops@example.org"}).data["recipient"] == "ops@example.org"
    assert postman.sent[0].recipient == "ops@example.org"
    reply = admin.post(TEST, {"recipient": "nobody"})
    assert (reply.status, list(reply.errors)) == (400, ["recipient"])


def test_why_a_test_mail_was_not_sent_is_told(admin: Client, postman: Postman) -> None:
    postman.refusal = "SMTP server did not accept the user name and password: 535 no"
    data = admin.post(TEST, {}).data
    assert (data["sent"], data["error"]) == (False, postman.refusal)
    assert [(step["step"], step["ok"]) for step in data["steps"]] == [("compose", True), ("auth", False)]


def test_there_is_nothing_to_test_without_a_server(platform: MemoryPlatform, admin: Client) -> None:
    platform.configure(mail_server="half")
    reply = admin.post(TEST, {})
    assert (reply.status, reply.errors) == (400, {"": ["Email settings not configured"]})


def test_tests_are_for_administrators_and_ten_in_a_minute(platform: MemoryPlatform, admin: Client) -> None:
    assert platform.player("eve").post(TEST, {}).status == 403
    assert [admin.post(TEST, {}).status for _ in range(11)] == [200] * 10 + [429]


def owed(platform: MemoryPlatform) -> list[tuple[str, str, str]]:
    sealer = Sealer(Keys(platform.settings.secret_key).mail_key())
    found = platform.run(lambda conn: conn.execute(select(outbox).order_by(outbox.c.id)).all())
    return [(row.recipient, row.subject, str(sealer.open(row.body))) for row in found]


def test_a_created_user_is_told_their_password_where_that_is_asked(platform: MemoryPlatform) -> None:
    admin = platform.admin()
    body = {"name": "bob", "email": "bob@example.org", "password": "hunter2"}
    assert admin.post("/api/v1/users?notify=true", {**body, "country": "QQ"}).status == 400
    assert owed(platform) == []
    assert admin.post("/api/v1/users?notify=true", body).status == 200
    ((recipient, subject, text),) = owed(platform)
    assert (recipient, subject) == ("bob@example.org", "Message from Test CTF")
    assert "Username: bob\nPassword: hunter2\n" in text
    assert "http://ctf.example/" in text
    for path in ("/api/v1/users", "/api/v1/users?notify="):
        number = len(platform.run(lambda conn: conn.execute(select(outbox)).all()))
        assert admin.post(path, {**body, "name": f"b{path}", "email": f"b{len(path)}@x.co"}).status == 200
        assert len(owed(platform)) == number


def test_without_a_server_a_user_is_created_all_the_same() -> None:
    platform = MemoryPlatform().setup()
    body = {"name": "bob", "email": "bob@example.org", "password": "hunter2"}
    assert platform.admin().post("/api/v1/users?notify=true", body).status == 200
    assert owed(platform) == []
    platform.close()


def test_a_registration_is_confirmed_by_mail(platform: MemoryPlatform) -> None:
    platform.client().submit("/register", name="eve", email="eve@example.org", password="secret")
    ((recipient, subject, text),) = owed(platform)
    assert (recipient, subject) == ("eve@example.org", "Successfully registered for Test CTF")
    assert "http://ctf.example/" in text
    assert "secret" not in text
