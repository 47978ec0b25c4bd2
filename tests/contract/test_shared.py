"""Claims about what many read alike: it is made once, after a commit that moves it, and never by a wrong answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

import pytest
from sqlalchemy import Connection, select

from ctfd_twisted.accounts.tables import users
from ctfd_twisted.db.notices import EVERYTHING, touch
from ctfd_twisted.testing import Client, MemoryPlatform, Reply
from ctfd_twisted.testing.builders import a_challenge, a_flag, a_solve, a_team, a_user
from ctfd_twisted.testing.statements import counted_statements

API: Final = "/api/v1"
#: What commits of the platform's own move which answers; each changes something that they show.
Change = Callable[["Place"], Reply]


def forget(conn: Connection) -> None:
    touch(conn, EVERYTHING)


def played(conn: Connection) -> list[int]:
    """Thirty challenges, of which six teams have solved one each; and sixty who have solved nothing."""
    numbers = [a_challenge(conn) for _ in range(30)]
    for number in numbers:
        a_flag(conn, number)
    for number in (0, 0, 0, 0, 0, 1):
        team = a_team(conn)
        a_solve(conn, numbers[number], a_user(conn, team_id=team), team_id=team)
    for _ in range(60):
        a_user(conn)
    forget(conn)
    return numbers


class Place:
    """A competition with thirty challenges, players and teams, of which everything may be seen by everybody."""

    def __init__(self, mode: str) -> None:
        self.platform = MemoryPlatform().setup(mode, challenge_visibility="public")
        self.challenges: list[int] = self.platform.run(played)
        self.admin = self.platform.admin()
        self.team = team = self.platform.run(a_team)
        self.ann, self.ben = (self.platform.player(name, team_id=team) for name in ("ann", "ben"))
        self.free_id: int = self.platform.run(
            lambda conn: conn.scalar(select(users.c.id).where(users.c.team_id.is_(None)))
        )
        self.page = self.admin.post(f"{API}/pages", {"title": "Rules", "route": "rules", "content": "*Rules*."}).data[
            "id"
        ]
        self.platform.configure(tos_text="Our *terms*")
        self.ben_id: int = self.ben.get(f"{API}/users/me").data["id"]
        self.cleo = self.platform.player("cleo", team_id=self.platform.run(a_team))

    def attempt(self, who: Client, flag: str, challenge: int = 0) -> Reply:
        return who.post(f"{API}/challenges/attempt", {"challenge_id": self.challenges[challenge], "submission": flag})


def solve(place: Place) -> Reply:
    return place.attempt(place.ben, "flag{right}")


def award(place: Place) -> Reply:
    return place.admin.post(f"{API}/awards", {"user_id": place.ben_id, "name": "a", "value": 50})


def rename_challenge(place: Place) -> Reply:
    return place.admin.patch(f"{API}/challenges/{place.challenges[0]}", {"name": "renamed", "value": 7})


def new_challenge(place: Place) -> Reply:
    fields = {"name": "new", "category": "new", "value": 1, "state": "visible", "type": "standard"}
    return place.admin.post(f"{API}/challenges", fields)


def rename_player(place: Place) -> Reply:
    return place.ben.patch(f"{API}/users/me", {"name": "benjamin", "website": "https://ben.example"})


def ban(place: Place) -> Reply:
    return place.admin.patch(f"{API}/users/{place.ben_id}", {"banned": True})


def new_player(place: Place) -> Reply:
    fields = {"name": "newcomer", "email": "new@example.org", "password": "a long password"}
    return place.admin.post(f"{API}/users", fields)


def new_team(place: Place) -> Reply:
    return place.admin.post(f"{API}/teams", {"name": "new", "email": "t@example.org", "password": "a long password"})


def leave(place: Place) -> Reply:
    return place.admin.delete(f"{API}/teams/{place.team}/members", {"user_id": place.ben_id})


def notify(place: Place) -> Reply:
    return place.admin.post(f"{API}/notifications", {"title": "news", "content": "of *today*"})


def bracket(place: Place) -> Reply:
    return place.admin.post(f"{API}/brackets", {"name": "students", "type": "teams"})


def configure(place: Place) -> Reply:
    return place.admin.patch(f"{API}/configs", {"ctf_name": "Another name"})


def hide_team(place: Place) -> Reply:
    return place.admin.patch(f"{API}/teams/1", {"hidden": True})


def join(place: Place) -> Reply:
    return place.admin.post(f"{API}/teams/{place.team}/members", {"user_id": place.free_id})


def edit_page(place: Place) -> Reply:
    return place.admin.patch(f"{API}/pages/{place.page}", {"title": "Rules", "content": "Other *rules*."})


def set_terms(place: Place) -> Reply:
    return place.admin.patch(f"{API}/configs", {"tos_text": "Other *terms*"})


#: Path, who asks, and changes after each of which it reads differently.
SHARED: Final[tuple[tuple[str, str, tuple[Change, ...]], ...]] = (
    ("/challenges", "ann", (solve, rename_challenge, new_challenge)),
    ("/challenges/1", "ann", (solve, rename_challenge)),
    ("/challenges/1/solves", "ann", (solve,)),
    ("/challenges/types", "admin", ()),
    ("/scoreboard", "ann", (solve, award, rename_challenge)),
    ("/scoreboard/top/10", "ann", (solve, award, rename_challenge)),
    ("/ctftime", "ann", (solve, award, rename_challenge, new_challenge)),
    ("/brackets", "ann", (bracket,)),
    ("/notifications", "ann", (notify,)),
    ("/users", "ann", (ban, new_player, join)),
    ("/users?page=2", "ann", (rename_player, new_player, ban)),
    ("/users?q=ben&field=name", "admin", (rename_player, ban)),
    ("/teams", "ann", (new_team, hide_team)),
    ("/configs", "admin", (configure,)),
    ("/statistics/users", "admin", (new_player,)),
    ("/statistics/teams", "admin", (new_team,)),
    ("/statistics/users/name", "admin", (new_player, rename_player)),
    ("/statistics/users/banned", "admin", (new_player, ban)),
    ("/statistics/users/team_id", "admin", (leave, join)),
    ("/statistics/challenges/name", "admin", (rename_challenge, new_challenge)),
    ("/statistics/challenges/category?function=sum&target=value", "admin", (rename_challenge, new_challenge)),
    ("/statistics/challenges/solves", "admin", (solve, rename_challenge, new_challenge)),
    ("/statistics/challenges/solves/percentages", "admin", (solve, rename_challenge, new_challenge)),
    ("/statistics/scores/distribution", "admin", (solve, award, new_challenge)),
)
#: The same of pages for people.
PAGES: Final[tuple[tuple[str, tuple[Change, ...]], ...]] = (
    ("/challenges", (solve, rename_challenge, new_challenge, configure)),
    ("/scoreboard", (solve, award, rename_challenge, bracket)),
    ("/users", (ban, new_player)),
    ("/users?page=2", (rename_player,)),
    ("/teams", (new_team, hide_team)),
    ("/notifications", (notify,)),
    ("/rules", (edit_page, configure)),
    ("/tos", (set_terms, configure)),
)
CHANGES: Final = [(path, who, change) for path, who, changes in SHARED for change in changes]


@pytest.fixture
def place() -> Iterator[Place]:
    place = Place("teams")
    yield place
    place.platform.close()


def asked_page(place: Place, path: str) -> str:
    """A page without its nonces."""
    reply = place.ann.get(path, content_type="text/html")
    assert reply.status == 200
    return re.sub(r'nonce="[\w-]{24}"|[0-9a-f]{64}', "", reply.text)


@pytest.mark.parametrize("path", [path for path, _ in PAGES])
def test_a_page_is_drawn_of_what_is_in_memory(place: Place, path: str) -> None:
    for _ in range(2):
        before = asked_page(place, path)
    assert place.attempt(place.cleo, "wrong").data["status"] == "incorrect"
    with counted_statements(place.platform.db.engines) as sent:
        assert asked_page(place, path) == before
    assert sent == []


@pytest.mark.parametrize(("path", "change"), [(path, change) for path, changes in PAGES for change in changes])
def test_a_page_is_another_after_a_commit_that_moves_it(place: Place, path: str, change: Change) -> None:
    before = asked_page(place, path)
    assert change(place).status == 200
    after = asked_page(place, path)
    assert after != before
    place.platform.run(forget)
    assert asked_page(place, path) == after


def ask(place: Place, who: str, path: str, tag: str | None = None) -> Reply:
    client: Client = getattr(place, who)
    return client.get(API + path, headers={} if tag is None else {"If-None-Match": tag})


@pytest.mark.parametrize(("path", "who"), [(path, who) for path, who, _ in SHARED])
def test_it_is_made_once_and_not_by_a_wrong_answer(place: Place, path: str, who: str) -> None:
    first = ask(place, who, path)
    assert first.status == 200
    # A detail counts the attempts of the account, so it is another's.
    assert place.attempt(place.cleo, "wrong").data["status"] == "incorrect"
    with counted_statements(place.platform.db.engines) as sent:
        again, known = ask(place, who, path), ask(place, who, path, first.headers["etag"])
    assert (again.body, known.status, known.body) == (first.body, 304, b"")
    assert sent == []


@pytest.mark.parametrize(("path", "who", "change"), CHANGES)
def test_it_is_another_after_a_commit_that_moves_it(place: Place, path: str, who: str, change: Change) -> None:
    before = ask(place, who, path)
    made = change(place)
    assert made.status == 200, made.body
    after = ask(place, who, path, before.headers["etag"])
    assert after.status == 200
    assert after.body != before.body


@pytest.mark.parametrize(("path", "who"), [(path, who) for path, who, _ in SHARED])
def test_what_is_kept_is_what_would_be_read_anew(place: Place, path: str, who: str) -> None:
    for change in (
        solve,
        award,
        rename_challenge,
        bracket,
        notify,
        rename_player,
        new_player,
        new_team,
        hide_team,
        leave,
    ):
        ask(place, who, path)
        assert change(place).status == 200
        kept = ask(place, who, path).body
        place.platform.run(forget)
        assert ask(place, who, path).body == kept, change
