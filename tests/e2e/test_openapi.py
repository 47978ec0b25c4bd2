"""The API's document, held against a real platform by somebody who knows nothing else: Schemathesis."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, Final

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from running import Person, PlatformProcess
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import FailureGroup
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

#: Requests to each operation, of those that the document admits and of those that it does not.
EXAMPLES: Final = 5
CHECKS: Final = [
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
#: Ids that something has; whoever asks has others, and is to stay.
KNOWN: Final = [2, 3, 4]

#: So many operations are seen to succeed at least; the others want more than can be guessed, or somebody else.
REACHED: Final = {"player": 40, "admin": 120}
#: What is there is looked at before it is changed, and removed at last.
ORDER: Final = ["get", "post", "patch", "put", "delete"]


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlatformProcess]:
    folder = tmp_path_factory.mktemp("openapi")
    with PlatformProcess(folder, None, "--malformed-payload-status", "400") as running:
        yield running


@pytest.fixture(scope="module")
def tokens(platform: PlatformProcess) -> dict[str, str]:
    """A competition of teams with two or more of everything; tokens of its administrator and of a captain."""
    browser = Person(platform)
    browser.submit(
        "/setup",
        ctf_name="The Document",
        ctf_description="what is told is so",
        user_mode="teams",
        name="organiser",
        email="organiser@example.org",
        password="a long password",
    )
    admin = Person(platform, str(browser.call("POST", "/tokens", {})["value"]))
    for number in KNOWN:
        person = {"name": f"player{number}", "email": f"{number}@example.org", "password": "pw", "verified": True}
        user = admin.call("POST", "/users", person)["id"]
        team = admin.call("POST", "/teams", {"name": f"team{number}", "password": "pw"})["id"]
        admin.call("POST", f"/teams/{team}/members", {"user_id": user})
        admin.call("PATCH", f"/teams/{team}", {"captain_id": user})
    for number in range(1, 5):
        _fill(admin, number)
    player = Person(platform)
    player.submit("/login", name="player2", password="pw")
    for number, answer in ((2, "flag{y}"), (3, "flag{x}")):
        player.call("POST", "/challenges/attempt", {"challenge_id": number, "submission": answer})
    person = {"name": "explorer", "email": "explorer@example.org", "password": "pw", "type": "admin", "verified": True}
    admin.call("POST", "/users", person)
    explorer = Person(platform)
    explorer.submit("/login", name="explorer", password="pw")
    return {"player": _late_token(player), "admin": _late_token(explorer)}


def _late_token(person: Person) -> str:
    """The last of many, so that ids that are tried first are those of others."""
    return [str(person.call("POST", "/tokens", {})["value"]) for _ in range(10)][-1]


def _fill(admin: Person, number: int) -> None:
    kind: dict[str, Any] = {"type": "standard", "value": 100}
    if number == KNOWN[-1]:
        kind = {"type": "koth", "url": "http://127.0.0.1:9/status", "interval": 3600, "reward": 5}
    challenge = {"name": f"c{number}", "category": "misc", "state": "visible", **kind}
    part = {"challenge_id": admin.call("POST", "/challenges", challenge)["id"]}
    admin.call("POST", "/flags", {**part, "type": "static", "content": "flag{x}"})
    admin.call("POST", "/hints", {**part, "content": "look closer", "cost": number % 2})
    admin.call("POST", "/tags", {**part, "value": "easy"})
    admin.call("POST", "/topics", {**part, "type": "challenge", "value": f"topic {number}"})
    admin.call("POST", "/solutions", {**part, "content": "like this", "state": "visible"})
    admin.call("POST", "/awards", {"user_id": 2, "team_id": 1, "name": "well done", "value": 10})
    admin.call("POST", "/notifications", {"title": "News", "content": "It goes on."})
    admin.call("POST", "/pages", {"title": "A page", "route": f"page{number}", "content": "Text", "format": "markdown"})
    admin.call("POST", "/comments", {"type": "challenge", "content": "A note", **part})
    audience = admin.call("POST", "/audiences", {"name": f"a{number}"})["id"]
    admin.call("POST", f"/audiences/{audience}/members", {"user_id": 2})
    module = admin.call("POST", "/modules", {"name": f"m{number}"})["id"]
    admin.call("POST", f"/modules/{module}/audiences", {"audience_id": audience})
    admin.call("POST", "/configs/fields", {"name": f"f{number}", "type": "user", "field_type": "text"})
    admin.call("POST", "/webhooks", {"url": f"http://127.0.0.1:9/{number}", "events": ["solve.created"]})
    admin.call("POST", "/brackets", {"name": f"b{number}", "description": "", "type": "users"})


def narrowed(document: dict[str, Any]) -> dict[str, Any]:
    """*document* for guesses that hit: most ids are known ones, and none is that of who asks."""
    narrow = copy.deepcopy(document)
    for operations in narrow["paths"].values():
        for operation in operations.values():
            for parameter in operation.get("parameters", ()):
                if parameter["in"] == "path":
                    kind = parameter["schema"]["type"]
                    known = [*KNOWN, 2**31 - 1] if kind == "integer" else [*map(str, KNOWN), "other"]
                    parameter["schema"] = {"type": kind, "enum": known}
    narrow["components"]["schemas"]["SentInteger"] = {"enum": [*KNOWN, "2", 3.5]}
    return narrow


@pytest.mark.parametrize("role", ["player", "admin"])
def test_what_is_answered_is_what_the_document_tells(
    platform: PlatformProcess, tokens: dict[str, str], role: str
) -> None:
    base = f"{platform.base}/api/v1"
    document = narrowed(requests.get(f"{base}/openapi.json", timeout=20).json())
    explorer = Explorer(base, tokens[role])
    found = [one.ok() for one in schemathesis.openapi.from_dict(document).get_all_operations() if isinstance(one, Ok)]
    assert len(found) == sum(map(len, document["paths"].values()))
    for operation in sorted(found, key=lambda one: ORDER.index(one.method)):
        explorer.explore(operation)
        me = requests.get(f"{base}/users/me", headers=explorer.headers, timeout=20)
        assert me.status_code == 200, f"{operation.label} has shut us out: {me.text}"
    assert not explorer.wrong, "\n\n".join(f"{label}: {text}" for label, text in explorer.wrong.items())
    reached = {label for label, status in explorer.answers if status == 200}
    assert len(reached) > REACHED[role], sorted({label for label, _ in explorer.answers} - reached)


class Explorer:
    """Asks what it can think of, and keeps the first answer to each operation that is not as the document tells."""

    def __init__(self, base: str, token: str) -> None:
        self.headers = {"Authorization": f"Bearer {token}"}
        self.wrong: dict[str, str] = {}
        self.answers: set[tuple[str, int]] = set()
        self._base = base
        self._session = requests.Session()

    def explore(self, operation: Any) -> None:
        """Ask as the document admits, then as it does not."""
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):

            @settings(
                max_examples=EXAMPLES,
                derandomize=True,
                database=None,
                deadline=None,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            @given(case=operation.as_strategy(generation_mode=mode))
            def ask(case: Case[Any]) -> None:
                self._ask(case)

            try:
                ask()
            except Unsatisfiable:
                continue  # where nothing is sent, nothing can be sent wrong
            if {status for label, status in self.answers if label == operation.label} == {403}:
                return  # who may not ask is told no more

    def _ask(self, case: Case[Any]) -> None:
        answer = case.call(base_url=self._base, session=self._session, headers=self.headers, timeout=20)
        self.answers.add((case.operation.label, answer.status_code))
        # A few refusals that clients of CTFd know are 500 with a text; all others are defects.
        known = answer.status_code == 500 and "errors" in answer.json()
        try:
            case.validate_response(answer, checks=CHECKS if known else [not_a_server_error, *CHECKS])
        except FailureGroup as failures:
            self.wrong.setdefault(case.operation.label, str(failures))
