"""The habits of go-ctfd, the client of CTFd in Go, with sockets and nothing that would mend an answer.

It takes the first 64 hexadecimal digits of a page for the nonce, and the cookie called ``session`` for the session.
Without a token it sends both with every call; with one it sends the nonce in forms all the same. Every answer of the
API it reads as JSON.
"""

from __future__ import annotations

import json
import re
from http.client import HTTPConnection
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

import pytest
from running import PlatformProcess

BOUNDARY = "9f4c61b2f0"
ORGANISER = {"name": "organiser", "email": "organiser@example.org", "password": "a long password"}
ALICE = {"name": "alice", "email": "alice@example.org", "password": "a password of her own"}


class Answered(NamedTuple):
    """An answer as it came."""

    status: int
    location: str
    body: bytes


class Client:
    """One that keeps the cookie ``session`` and the nonce, and knows a token perhaps."""

    def __init__(self, platform: PlatformProcess, token: str = "") -> None:
        self._port = urlsplit(platform.base).port
        self._token = token
        self.session = ""
        self.nonce = ""

    def send(self, method: str, path: str, body: str | bytes | None = None, **headers: str) -> Answered:
        """One request over a connection of its own; a cookie that comes is kept."""
        connection = HTTPConnection("127.0.0.1", self._port, timeout=20)
        told = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.session:
            told["Cookie"] = f"session={self.session}"
        connection.request(method, path, body, told)
        answer = connection.getresponse()
        for cookie in answer.headers.get_all("Set-Cookie", []):
            if found := re.match(r"session=([^;]+)", cookie):
                self.session = found[1]
        answered = Answered(answer.status, answer.headers.get("Location", ""), answer.read())
        connection.close()
        return answered

    def find_nonce(self, path: str) -> str:
        """GET a page, and take the first 64 hexadecimal digits in it."""
        page = self.send("GET", path)
        assert page.status == 200, (path, page)
        found = re.search(rb"[0-9a-f]{64}", page.body)
        assert found is not None, f"no nonce in {path}"
        self.nonce = found[0].decode()
        return self.nonce

    def fill_in(self, path: str, **fields: str) -> Answered:
        """Send a form with the nonce of its page."""
        body = urlencode({**fields, "nonce": self.find_nonce(path)})
        return self.send("POST", path, body, Content_Type="application/x-www-form-urlencoded")

    def set_up(self) -> None:
        """Send the form of ``/setup``, which is multipart."""
        fields = {"ctf_name": "CTF", "ctf_description": "", "user_mode": "users", **ORGANISER}
        form = multipart({**fields, "nonce": self.find_nonce("/setup")})
        done = self.send("POST", "/setup", form, Content_Type=f"multipart/form-data; boundary={BOUNDARY}")
        assert (done.status, done.location) == (302, "/"), done

    def sign_in(self, account: dict[str, str]) -> None:
        """Send the form of ``/login``, and take the nonce of the page that follows: the one before is worth nothing."""
        done = self.fill_in("/login", name=account["name"], password=account["password"])
        assert done.status == 302, done
        self.find_nonce(done.location)

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """The decoded answer of a call that must succeed, ``data`` of it."""
        told = json.loads(self.raw(method, path, body).body)
        assert told["success"] is True, (path, told)
        assert told.get("errors") is None, (path, told)
        return told.get("data")

    def raw(self, method: str, path: str, body: Any = None) -> Answered:
        """One call of the API, which says who asks as the client does."""
        sent = None if body is None else json.dumps(body)
        return self.send(method, f"/api/v1{path}", sent, Content_Type="application/json", **self._credentials())

    def upload(self, path: str, fields: dict[str, str], file: tuple[str, bytes]) -> Any:
        """``data`` of what a multipart form with a file was answered; the nonce is in it also beside a token."""
        form = multipart({**fields, "nonce": self.nonce}, file)
        told = f"multipart/form-data; boundary={BOUNDARY}"
        answer = self.send("POST", f"/api/v1{path}", form, Content_Type=told, **self._credentials())
        assert answer.status == 200, answer
        return json.loads(answer.body)["data"]

    def _credentials(self) -> dict[str, str]:
        return {"Authorization": f"Token {self._token}"} if self._token else {"CSRF_Token": self.nonce}


def multipart(fields: dict[str, str], file: tuple[str, bytes] | None = None) -> bytes:
    """A form as ``multipart/form-data``."""
    parts = [f'Content-Disposition: form-data; name="{name}"\r\n\r\n{value}'.encode() for name, value in fields.items()]
    if file is not None:
        head = f'Content-Disposition: form-data; name="file"; filename="{file[0]}"\r\nContent-Type: text/plain\r\n\r\n'
        parts.append(head.encode() + file[1])
    return b"".join(f"--{BOUNDARY}\r\n".encode() + part + b"\r\n" for part in parts) + f"--{BOUNDARY}--\r\n".encode()


@pytest.fixture
def admin(platform: PlatformProcess) -> Client:
    """Who has set the competition up, and is signed in since."""
    client = Client(platform)
    client.set_up()
    client.sign_in(ORGANISER)
    return client


def a_challenge(client: Client, **columns: object) -> int:
    """A challenge with a flag and a file; its id."""
    made = client.call(
        "POST", "/challenges", {"name": "Warm-up", "category": "misc", "value": 100, "type": "standard", **columns}
    )
    client.call("POST", "/flags", {"challenge_id": made["id"], "type": "static", "content": "event{warm}", "data": ""})
    fields = {"type": "challenge", "challenge_id": str(made["id"])}
    [stored] = client.upload("/files", fields, ("warm.txt", b"put on a coat\r\n"))
    assert stored["location"].endswith("/warm.txt")
    return int(made["id"])


def test_an_event_is_held_with_a_session_alone(platform: PlatformProcess, admin: Client) -> None:
    challenge = a_challenge(admin)
    alice = Client(platform)
    assert alice.fill_in("/register", **ALICE).status == 302
    alice = Client(platform)
    alice.sign_in(ALICE)
    [listed] = alice.call("GET", "/challenges")
    assert (listed["id"], listed["solved_by_me"]) == (challenge, False)
    [file] = alice.call("GET", f"/challenges/{challenge}")["files"]
    assert alice.send("GET", file).body == b"put on a coat\r\n"
    for submission, status in (
        ("event{cold}", "incorrect"),
        ("event{warm}", "correct"),
        ("event{warm}", "already_solved"),
    ):
        told = alice.call("POST", "/challenges/attempt", {"challenge_id": challenge, "submission": submission})
        assert told["status"] == status
    assert [one["name"] for one in alice.call("GET", "/scoreboard")] == ["alice"]
    alice.call("PATCH", "/users/me", {"affiliation": "none"})
    assert alice.call("GET", "/users/me")["score"] == 100


def test_an_event_is_held_with_a_token_and_a_cookie_jar(platform: PlatformProcess, admin: Client) -> None:
    token = admin.call("POST", "/tokens", {"description": "go", "expiration": "2999-12-31"})["value"]
    client = Client(platform, token)
    client.find_nonce("/login")
    challenge = a_challenge(client)
    # Each answer has started a session of its own; cookie, nonce and token have gone along since.
    assert client.session
    client.call("PATCH", f"/challenges/{challenge}", {"state": "hidden"})
    assert client.call("GET", "/challenges") == []
    assert [one["id"] for one in client.call("GET", "/challenges?view=admin")] == [challenge]
    client.call("DELETE", f"/challenges/{challenge}")
    assert client.call("GET", "/challenges?view=admin") == []


def test_a_nonce_of_another_session_is_refused_in_json(platform: PlatformProcess, admin: Client) -> None:
    stranger = Client(platform)
    admin.nonce = stranger.find_nonce("/login")
    refused = admin.raw("POST", "/challenges", {"name": "Warm-up", "category": "", "value": 1, "type": "standard"})
    assert (refused.status, set(json.loads(refused.body))) == (403, {"message"})


def test_every_refusal_of_the_api_is_json(platform: PlatformProcess, admin: Client) -> None:
    stranger = Client(platform, "ctfd_" + "0" * 64)
    for client, method, path, status in (
        (stranger, "GET", "/users/me", 401),
        (Client(platform), "GET", "/users/me", 403),
        (admin, "GET", "/challenges/77", 404),
        (admin, "POST", "/challenges/attempt", 500),
        (admin, "DELETE", "/challenges/77", 404),
        (admin, "GET", "/users?page=x&field=nothing", 400),
    ):
        answer = client.raw(method, path)
        assert answer.status == status, (path, answer)
        assert set(json.loads(answer.body)) & {"message", "errors"}, answer


def test_the_first_64_digits_of_a_page_are_its_nonce(platform: PlatformProcess, admin: Client) -> None:
    for client, paths in (
        (Client(platform), ("/login", "/register", "/reset_password", "/")),
        (admin, ("/challenges", "/settings", "/")),
    ):
        for path in paths:
            found = client.find_nonce(path)
            named = re.findall(rb"csrfNonce': \"([0-9a-f]{64})\"", client.send("GET", path).body)
            assert named == [found.encode()], path
