from typing import Any

import jsonschema_rs
import pytest

from ctfd_twisted.http.answers import JSON
from ctfd_twisted.http.described import Described, Message
from ctfd_twisted.http.gates import ADMIN, ANYONE
from ctfd_twisted.http.openapi.document import make_document
from ctfd_twisted.http.routes import Routes
from ctfd_twisted.testing import MemoryPlatform
from ctfd_twisted.testing.conformance import Conformance


class Things:
    """Things."""

    routes = Routes()

    @routes.get("/api/v1/things", ANYONE, data=list[int])
    def all(self) -> None:
        """All things."""

    @routes.get("/api/v1/things/<int:thing_id>", ADMIN, data=int | None)
    def one(self) -> None:
        """One thing."""

    @routes.get(
        "/api/v1/things/names", ANYONE, data=dict[str, int], also=(Described(409, JSON, Message, "They are counted."),)
    )
    def names(self) -> None:
        """Their names."""


@pytest.fixture
def things() -> Conformance:
    document = make_document(Things.routes.of(Things()), malformed_status=500, root="/ctf")
    return Conformance(document, jsonschema_rs.Draft202012Validator)


@pytest.mark.parametrize(
    ("path", "status", "body"),
    [
        ("/ctf/api/v1/things", 200, b'{"success":true,"data":[1,2]}'),
        ("/ctf/api/v1/things?page=1", 200, b'{"success":true,"data":[]}'),
        ("/ctf/api/v1/things/4", 200, b'{"success":true,"data":null}'),
        ("/ctf/api/v1/things/4", 403, b'{"message":"no"}'),
        ("/ctf/api/v1/things/names", 409, b'{"message":"no"}'),
        ("/ctf/api/v1/others", 418, b"?"),
        ("/ctf/things", 418, b"?"),
        ("/ctf/api/v1/things/four", 418, b"?"),
    ],
)
def test_what_the_document_tells_and_what_it_does_not_know_passes(
    things: Conformance, path: str, status: int, body: bytes
) -> None:
    things.check("GET", path, status, "application/json", body)


@pytest.mark.parametrize(
    ("path", "status", "content_type", "body", "words"),
    [
        ("things", 200, JSON, b'{"success":true,"data":["1"]}', '/data/0: "1" is not of type "integer"'),
        ("things", 200, JSON, b'{"success":true,"data":[],"more":1}', "more"),
        ("things", 200, JSON, b'{"success":false,"data":[]}', "/success"),
        ("things", 200, "text/html; charset=utf-8", b"<p>", "as 'text/html'"),
        ("things", 404, JSON, b'{"message":"no"}', "GET /api/v1/things answered 404"),
        ("things/4", 200, JSON, b'{"success":true}', "data"),
        ("things/names", 409, JSON, b'{"message":"no","success":false}', "success"),
    ],
)
def test_what_the_document_does_not_tell_fails_and_says_what(
    things: Conformance, path: str, status: int, content_type: str, body: bytes, words: str
) -> None:
    with pytest.raises(AssertionError) as failed:
        things.check("GET", f"/ctf/api/v1/{path}", status, content_type, body)
    assert words in str(failed.value)


def test_every_answer_of_a_platform_in_memory_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(Conformance, "check", lambda _, *answer: seen.append(answer[:3]))
    platform = MemoryPlatform().setup()
    try:
        platform.admin().get("/api/v1/flags")
        platform.client().get("/login")
    finally:
        platform.close()
    assert seen == [("GET", "/api/v1/flags", 200)]
