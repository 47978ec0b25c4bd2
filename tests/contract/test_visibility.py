"""Claims about everything that can be asked for: what is hidden leaks through nothing, what is frozen stands still."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from functools import partial

import pytest
from sqlalchemy import Connection

from ctfd_twisted.db.notices import EVERYTHING, touch
from ctfd_twisted.testing import Client, MemoryPlatform, Reply
from ctfd_twisted.testing.builders import a_team, an_award
from ctfd_twisted.testing.platform import BEGINS
from tests.contract.crawling import asked, crawled, paths
from tests.contract.secret_event import SecretEvent

MODES = ["users", "teams"]
WHO = ["anonymous", "player"]
#: An id that nothing has, and a text that nothing is called.
MISSING, NONSENSE = 999_999, "zq0000zq"
#: What differs between two answers that say the same: nonces and the like, and how a body is sent.
_OTHERWISE = {"set-cookie", "date", "content-encoding"}
_DRAWN, _NONCE = re.compile(r"\b[0-9a-f]{32,64}\b"), re.compile(r"'nonce-([\w-]+)'")
#: Parameters of which the first and the second that there can be will do.
ONE_OR_TWO = (
    "audience_id", "award_id", "bracket_id", "delivery_id", "endpoint_id", "field_id", "file_id", "flag_id", "link",
    "module_id", "notice_id", "page_id", "submission_id", "tag_id", "token_id", "topic_id", "type_name",
)  # fmt: skip
#: Where can be searched, by which columns, and for which secrets.
_TASKS, _PEOPLE = r"(name|category|description) of", r"website|affiliation|mail|a (hidden|banned)"
SEARCHES = (
    ("/api/v1/challenges", _TASKS, ("name", "description", "category")),
    ("/api/v1/users", _PEOPLE, ("name", "website", "affiliation", "email")),
    ("/api/v1/teams", _PEOPLE, ("name", "website", "affiliation", "email")),
    ("/users", _PEOPLE, ("name", "affiliation", "email")),
    ("/teams", _PEOPLE, ("name", "affiliation", "email")),
)
#: What is one's own goes on after the freeze, and is worth what it is worth by then.
OWN = re.compile(r"/api/v1/(users|teams)/me\b|/(user|team|profile)$")


class Place:
    """A platform with a secret event on it, which everybody may look at."""

    def __init__(self, mode: str) -> None:
        self.mode = mode
        self.platform = MemoryPlatform().setup(mode, challenge_visibility="public", view_self_submissions=True)
        before = self.platform.now - timedelta(days=1)
        event: SecretEvent = self.platform.run(partial(SecretEvent, before=before, teams=mode == "teams"))
        self.event, self.told = event, event.told
        self.viewers = {"anonymous": self.platform.client(), "player": self.platform.player("viewer")}
        people = (event.viewer, event.insider, *event.ghosts)
        hints = [number for number, what in self.told.ids.items() if what.startswith("hint")]
        values: Mapping[str, list[object]] = {
            "challenge_id": [event.open, event.second, event.hill, *event.known, *event.unknown, MISSING],
            "user_id": [*(user for user, _ in people), MISSING],
            "team_id": [*{team for _, team in people if team is not None}, MISSING],
            "hint_id": [*range(1, 20), *hints, MISSING],
            "solution_id": [*event.solutions, MISSING],
            "location": [*event.locations],
            "count": [1, 50],
            "column": ["name", "email", "ip", "provided", "category"],
            "key": ["mail_password", "unheard"],
            "kind": ["solve"],
            "name": ["users", "unheard"],
            **{name: [1, 2] for name in ONE_OR_TWO},
        }
        self.paths = [*paths(self.platform, values)]
        self.paths += [f"/challenges?open={number}" for number in values["challenge_id"]]
        self.paths += [f"/api/v1/challenges/{number}?view=admin" for number in values["challenge_id"]]
        self.paths += [f"/api/v1/challenges/{number}/solves?preview=1" for number in values["challenge_id"]]
        self.paths += [f"/api/v1/hints/{number}?preview=1" for number in values["hint_id"]]
        self.paths += [f"/api/v1/{name}?view=admin" for name in ("challenges", "users", "teams")]

    def close(self) -> None:
        self.platform.close()


@pytest.fixture(scope="module", params=MODES)
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    place = Place(request.param)
    yield place
    place.close()


def shown(reply: Reply) -> str:
    """All that an answer says, its headers too."""
    headers = sorted((name, value) for name, value in reply.headers.items() if name not in _OTHERWISE)
    text = _DRAWN.sub("", f"{reply.status} {headers} {reply.text}")
    nonce = _NONCE.search(text)
    return text if nonce is None else text.replace(nonce[1], "")


@pytest.mark.parametrize("who", WHO)
def test_no_answer_holds_a_secret(place: Place, who: str) -> None:
    told, found = place.told, set()
    replies = crawled(place.viewers[who], place.paths)
    for path, reply in replies.items():
        text = shown(reply)
        found |= {(path, told.texts[word]) for word in re.findall(r"zq\d{4}zq", text) if word not in path}
        numbers = {int(number) for number in re.findall(r"\b70\d{4}\b", text) if number not in path}
        found |= {(path, told.ids[number]) for number in numbers & told.ids.keys()}
    assert sorted(found) == []
    assert sum(reply.status == 200 for reply in replies.values()) > 50


@pytest.mark.parametrize("who", WHO)
def test_what_nobody_may_know_of_is_answered_like_what_is_not_there(place: Place, who: str) -> None:
    client, different = place.viewers[who], []
    for number in place.told.ids:
        for path in place.paths:
            if re.search(rf"\b{number}\b", path):
                there, nowhere = (asked(client, one) for one in (path, path.replace(str(number), str(MISSING))))
                if shown(there).replace(str(number), str(MISSING)) != shown(nowhere):
                    different.append(path)
    assert different == []


def test_what_nobody_may_know_of_can_not_be_found_by_trying(place: Place) -> None:
    client = place.viewers["player"]

    def tried(number: int) -> list[str]:
        replies = [
            client.post("/api/v1/challenges/attempt", {"challenge_id": number, "submission": "x"}),
            client.put(f"/api/v1/challenges/{number}/ratings", {"value": 1}),
            client.post("/api/v1/unlocks", {"type": "hints", "target": number}),
            client.post("/api/v1/unlocks", {"type": "solutions", "target": number}),
            client.post("/api/v1/challenges/attempt?preview=1", {"challenge_id": number, "submission": "x"}),
        ]
        return [shown(reply) for reply in replies]

    nowhere = tried(MISSING)
    assert {number: tried(number) for number in place.told.ids} == dict.fromkeys(place.told.ids, nowhere)


@pytest.mark.parametrize("who", WHO)
def test_no_search_finds_a_secret(place: Place, who: str) -> None:
    client, found = place.viewers[who], []
    for path, secrets, columns in SEARCHES:
        words = {word: what for word, what in place.told.texts.items() if re.match(secrets, what)}
        for query in (f"{path}?{wanted}" for column in columns for wanted in (f"field={column}&q=", f"{column}=")):
            nothing = shown(asked(client, f"{query}{NONSENSE}"))
            found += [
                (query, what)
                for word, what in words.items()
                if shown(asked(client, f"{query}{word}")).replace(word, NONSENSE) != nothing
            ]
    assert found == []


@pytest.mark.parametrize("mode", MODES)
def test_from_the_freeze_on_nothing_that_others_do_changes_what_is_seen(mode: str) -> None:
    place = Place(mode)
    platform, event = place.platform, place.event
    late = [platform.player(f"late {number}", team_id=_team(platform, mode, number)) for number in range(3)]
    platform.configure(freeze=int(platform.now.timestamp()))
    frozen = {who: _seen(place, client) for who, client in place.viewers.items()}
    for client in late:
        _play(client, event)
    admin, insider = platform.admin(), event.insider[0]
    assert admin.post("/api/v1/awards", {"user_id": insider, "name": "late", "value": 70}).status == 200
    platform.run(_late_award, event)
    for who, client in place.viewers.items():
        before, after = frozen[who], _seen(place, client)
        assert {path for path in before if before[path] != after[path]} == set()
    place.close()


def _team(platform: MemoryPlatform, mode: str, number: int) -> int | None:
    if mode == "users":
        return None
    team: int = platform.run(partial(a_team, name=f"late {number}"))
    return team


def _seen(place: Place, client: Client) -> dict[str, str]:
    return {path: shown(reply) for path, reply in crawled(client, place.paths).items() if not OWN.match(path)}


def _play(client: Client, event: SecretEvent) -> None:
    """Do what moves scores, counts, values and sums: wrong and right answers, a hint, a rating, a first look."""
    for number in (event.open, event.second):
        assert client.get(f"/api/v1/challenges/{number}").status == 200
        for answer in ("wrong", _flag_of(event, number)):
            body = {"challenge_id": number, "submission": answer}
            assert client.post("/api/v1/challenges/attempt", body).status == 200
        assert client.put(f"/api/v1/challenges/{number}/ratings", {"value": -1}).status == 200
    hint = client.get(f"/api/v1/challenges/{event.open}").data["hints"][0]["id"]
    assert client.post("/api/v1/unlocks", {"type": "hints", "target": hint}).status == 200


def _flag_of(event: SecretEvent, number: int) -> str:
    what = {event.open: "flag of the open challenge", event.second: "flag of the second challenge"}[number]
    return next(word for word, told in event.told.texts.items() if told == what)


def _late_award(conn: Connection, event: SecretEvent) -> None:
    an_award(conn, event.insider[0], 10, team_id=event.insider[1], date=BEGINS, type="koth")
    touch(conn, EVERYTHING)
