"""Who may ask for what: every route about accounts, for everybody there is, in both modes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Connection, select, update

from ctfd_twisted.accounts.audiences import AudienceFields, create_audience
from ctfd_twisted.accounts.brackets import BracketFields, create_bracket
from ctfd_twisted.accounts.fields_store import FieldFields, create_field
from ctfd_twisted.accounts.tables import teams, users
from ctfd_twisted.db.notices import EVERYTHING, touch
from ctfd_twisted.testing import Client, MemoryPlatform
from ctfd_twisted.testing.builders import a_team

#: The players' answers, in the order of WHO; the captain is user 1 and has token 1, their team is team 1.
WHO = ("nobody", "loner", "member", "captain", "admin")
OPEN, LOGIN, ADMIN = (200,) * 5, (403, 200, 200, 200, 200), (403, 403, 403, 403, 200)
TEAM, CAPTAIN = (403, 403, 200, 200, 403), (403, 403, 403, 200, 403)
CREATE = (403, 403, 403, 403, 400)

IN_BOTH_MODES = {
    "GET /users": OPEN,
    "GET /users?view=admin": OPEN,
    "GET /users?field=email": (400, 400, 400, 400, 200),
    "POST /users": CREATE,
    "GET /users/1": OPEN,
    "GET /users/99": (404,) * 5,
    "PATCH /users/1": ADMIN,
    "PATCH /users/99": (403, 403, 403, 403, 404),
    "DELETE /users/99": ADMIN,
    "GET /users/1/solves": OPEN,
    "GET /users/1/fails": OPEN,
    "GET /users/1/awards": OPEN,
    "POST /users/1/email": CREATE,
    "GET /users/1/sessions": ADMIN,
    "DELETE /users/99/sessions": ADMIN,
    "GET /users/me": LOGIN,
    "PATCH /users/me": LOGIN,
    "GET /users/me/solves": LOGIN,
    "GET /users/me/fails": LOGIN,
    "GET /users/me/awards": LOGIN,
    "GET /users/me/submissions": (403,) * 5,
    "GET /users/me/sessions": LOGIN,
    "DELETE /users/me/sessions": LOGIN,
    "DELETE /users/me/sessions/none": (403, 404, 404, 404, 404),
    "GET /tokens": LOGIN,
    "POST /tokens": LOGIN,
    "GET /tokens/1": (403, 404, 404, 200, 200),
    "DELETE /tokens/99": (403, 404, 404, 404, 404),
    "GET /brackets": OPEN,
    "POST /brackets": ADMIN,
    "PATCH /brackets/1": ADMIN,
    "DELETE /brackets/99": (403, 403, 403, 403, 404),
    "GET /audiences": ADMIN,
    "POST /audiences": CREATE,
    "GET /audiences/1": ADMIN,
    "PATCH /audiences/1": CREATE,
    "DELETE /audiences/99": (403, 403, 403, 403, 404),
    "GET /audiences/1/members": ADMIN,
    "POST /audiences/1/members": CREATE,
    "DELETE /audiences/1/members/99": (403, 403, 403, 403, 404),
    "GET /configs/fields": ADMIN,
    "POST /configs/fields": ADMIN,
    "GET /configs/fields/1": ADMIN,
    "PATCH /configs/fields/1": ADMIN,
    "DELETE /configs/fields/99": (403, 403, 403, 403, 404),
}
WHERE_TEAMS_PLAY = {
    "GET /teams": OPEN,
    "GET /teams?field=email": (400, 400, 400, 400, 200),
    "POST /teams": CREATE,
    "GET /teams/1": OPEN,
    "GET /teams/99": (404,) * 5,
    "PATCH /teams/1": ADMIN,
    "DELETE /teams/99": (403, 403, 403, 403, 404),
    "GET /teams/1/members": ADMIN,
    "POST /teams/1/members": ADMIN,
    "DELETE /teams/1/members": CREATE,
    "GET /teams/1/solves": OPEN,
    "GET /teams/1/fails": OPEN,
    "GET /teams/1/awards": OPEN,
    "GET /teams/me": TEAM,
    "PATCH /teams/me": CAPTAIN,
    "POST /teams/me/members": CAPTAIN,
    "GET /teams/me/solves": TEAM,
    "GET /teams/me/fails": TEAM,
    "GET /teams/me/awards": TEAM,
    "DELETE /teams/me": CAPTAIN,
}


@pytest.fixture
def platform() -> Iterator[MemoryPlatform]:
    platform = MemoryPlatform().setup("teams")
    yield platform
    platform.close()


@pytest.fixture
def everybody(platform: MemoryPlatform) -> list[Client]:
    """Whom the names of WHO stand for, with a team, a bracket, an audience and a field."""
    found = {name: platform.player(name) for name in ("captain", "member", "loner")}

    def build(conn: Connection) -> None:
        team = a_team(conn)
        conn.execute(update(users).where(users.c.name.in_(["captain", "member"])).values(team_id=team))
        captain = select(users.c.id).where(users.c.name == "captain").scalar_subquery()
        conn.execute(update(teams).values(captain_id=captain))
        create_bracket(conn, BracketFields(name="b"))
        create_audience(conn, AudienceFields(name="a"))
        create_field(conn, FieldFields(name="f"))
        touch(conn, EVERYTHING)

    platform.run(build)
    return [{"nobody": platform.client(), "admin": platform.admin(), **found}[name] for name in WHO]


def statuses(everybody: list[Client], asked: str) -> tuple[int, ...]:
    """What each of them is answered, all asking for JSON."""
    method, path = asked.split()
    sent: dict[str, Any] = {"content_type": "application/json"} if method == "GET" else {"json": {}}
    return tuple(client.request(method, f"/api/v1{path}", **sent).status for client in everybody)


@pytest.mark.parametrize("asked", [*IN_BOTH_MODES, *WHERE_TEAMS_PLAY])
def test_where_teams_play(everybody: list[Client], asked: str) -> None:
    assert statuses(everybody, asked) == {**IN_BOTH_MODES, **WHERE_TEAMS_PLAY}[asked]


def test_where_users_play_there_are_no_teams(platform: MemoryPlatform, everybody: list[Client]) -> None:
    platform.configure(user_mode="users")
    wrong = {asked: found for asked in WHERE_TEAMS_PLAY if (found := statuses(everybody, asked)) != (404,) * 5}
    assert wrong == {}
    wrong = {asked: found for asked, right in IN_BOTH_MODES.items() if (found := statuses(everybody, asked)) != right}
    assert wrong == {}


@pytest.mark.parametrize(("visibility", "others"), [("private", (403, 200, 200, 200, 200)), ("admins", (404,) * 4)])
def test_visibility_of_accounts_closes_every_view_of_others(
    platform: MemoryPlatform, everybody: list[Client], visibility: str, others: tuple[int, ...]
) -> None:
    platform.configure(account_visibility=visibility)
    expected = (*others, 200)[:5]
    for kind in ("users", "teams"):
        for below in ("", "/1", "/1/solves", "/1/fails", "/1/awards"):
            assert statuses(everybody, f"GET /{kind}{below}") == expected, below
    assert statuses(everybody, "GET /teams/me") == TEAM
    assert statuses(everybody, "GET /users/me") == LOGIN


@pytest.mark.parametrize(
    ("visibility", "expected"),
    [("private", (403, 200, 200, 200, 200)), ("hidden", ADMIN), ("admins", (404, 404, 404, 404, 200))],
)
def test_visibility_of_scores_closes_what_they_come_from_and_no_profile(
    platform: MemoryPlatform, everybody: list[Client], visibility: str, expected: tuple[int, ...]
) -> None:
    platform.configure(score_visibility=visibility)
    for kind in ("users", "teams"):
        for below in ("solves", "fails", "awards"):
            assert statuses(everybody, f"GET /{kind}/1/{below}") == expected, below
        assert statuses(everybody, f"GET /{kind}/1") == OPEN
        assert statuses(everybody, f"GET /{kind}/me/solves") == (LOGIN if kind == "users" else TEAM)
    shown = [client.get("/api/v1/teams/1", content_type="application/json").data["score"] for client in everybody]
    # "Hidden" hides the field from administrators too.
    told = {"private": [None, 0, 0, 0, 0], "hidden": [None] * 5, "admins": [None, None, None, None, 0]}
    assert shown == told[visibility]


def test_every_route_about_accounts_is_asked_here(platform: MemoryPlatform) -> None:
    rooms = ("/users", "/teams", "/tokens", "/brackets", "/audiences", "/configs/fields")
    paths = platform.client().get("/api/v1/openapi.json").json["paths"]
    told = {f"{method.upper()} {path}" for path in paths for method in paths[path] if path.startswith(rooms)}
    asked = {asked.partition("?")[0] for asked in (*IN_BOTH_MODES, *WHERE_TEAMS_PLAY)}
    assert {re.sub(r"\{\w+\}", "*", one) for one in told} == {re.sub(r"/(\d+|none)\b", "/*", one) for one in asked}
