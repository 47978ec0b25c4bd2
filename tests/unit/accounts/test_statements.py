"""A list costs as many statements as it ever did, whatever its length."""

from __future__ import annotations

from datetime import datetime

import pytest
from sqlalchemy import Connection, update

from ctfd_twisted.accounts.keys import Keys
from ctfd_twisted.accounts.sessions import Entrance, open_session
from ctfd_twisted.accounts.tables import audience_members, audiences, brackets, field_entries, fields, teams, users
from ctfd_twisted.accounts.tokens import create_token
from ctfd_twisted.db.notices import EVERYTHING, touch
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.testing import MemoryPlatform
from ctfd_twisted.testing.builders import a_challenge, a_hint, a_solve, a_submission, a_team, a_user, an_award
from ctfd_twisted.testing.statements import counted_statements

#: The first user, who is captain of the first team, and the first audience.
CAPTAIN = TEAM = AUDIENCE = 1

PATHS = [
    "/users",
    "/teams",
    "/tokens",
    "/brackets",
    "/users/me/sessions",
    "/users/me/solves",
    "/users/me/fails",
    "/users/me/awards",
    "/users/me/submissions?challenge_id=1",
    "/teams/me",
    "/teams/me/solves",
    "/teams/me/fails",
    "/teams/me/awards",
    f"/users/{CAPTAIN}",
    f"/users/{CAPTAIN}/solves",
    f"/users/{CAPTAIN}/fails",
    f"/users/{CAPTAIN}/awards",
    f"/teams/{TEAM}",
    f"/teams/{TEAM}/solves",
    f"/teams/{TEAM}/fails",
    f"/teams/{TEAM}/awards",
]
FOR_ADMINS = [
    "/users?view=admin",
    "/teams?view=admin",
    f"/users/{CAPTAIN}",
    f"/users/{CAPTAIN}/solves",
    f"/users/{CAPTAIN}/fails",
    f"/users/{CAPTAIN}/awards",
    f"/users/{CAPTAIN}/sessions",
    f"/teams/{TEAM}",
    f"/teams/{TEAM}/solves",
    f"/teams/{TEAM}/awards",
    f"/teams/{TEAM}/members",
    "/audiences",
    f"/audiences/{AUDIENCE}/members",
    "/configs/fields",
]


def grow(conn: Connection, now: datetime, password_mac: str) -> None:
    """One more of everything that these lists show, with what hangs on it; *password_mac* is that of the captain."""
    member = a_user(conn, team_id=TEAM)
    team = a_team(conn)
    a_user(conn, team_id=team)
    challenge = a_challenge(conn)
    a_solve(conn, challenge, CAPTAIN, team_id=TEAM)
    hint = a_hint(conn, challenge)
    an_award(conn, CAPTAIN, -1, team_id=TEAM, category="hints", name=f"Hint {hint}")
    for user_id in (CAPTAIN, member):
        a_submission(conn, challenge, user_id, team_id=TEAM)
        a_submission(conn, 1, user_id, team_id=TEAM)
        an_award(conn, user_id, team_id=TEAM)
    bracket = insert_row(conn, brackets, {"name": "b", "type": "users"})
    conn.execute(update(users).where(users.c.id == member).values(bracket_id=bracket))
    for kind, accounts in (("user", (CAPTAIN, member)), ("team", (TEAM, team))):
        flags = {"required": False, "public": True, "editable": True}
        field = insert_row(conn, fields, {"name": "f", "type": kind, "field_type": "text", **flags})
        for account in accounts:
            answer = {"type": kind, "value": "v", "field_id": field, f"{kind}_id": account}
            insert_row(conn, field_entries, answer)
    audience = insert_row(conn, audiences, {"name": "a", "type": "standard"})
    for audience_id in {AUDIENCE, audience}:
        insert_row(conn, audience_members, {"audience_id": audience_id, "team_id": team})
    create_token(conn, now, CAPTAIN, None, None)
    open_session(conn, now, CAPTAIN, Entrance(f"s.{audience}", password_mac, "::1", "agent"))


@pytest.mark.parametrize(
    ("who", "path"), [*(("captain", path) for path in PATHS), *(("admin", path) for path in FOR_ADMINS)]
)
def test_a_longer_list_takes_no_more_statements(platform: MemoryPlatform, who: str, path: str) -> None:
    platform.configure(user_mode="teams", view_self_submissions=True)
    captain = platform.player("captain", team_id=platform.run(a_team))
    platform.run(lambda conn: conn.execute(update(teams).values(captain_id=CAPTAIN)))
    keys = Keys(platform.settings.secret_key)
    asking = captain if who == "captain" else platform.admin()

    def asked(times: int) -> tuple[int, int]:
        """The statements that the list takes after so many more of everything, and how long its answer is."""

        def grow_all(conn: Connection) -> None:
            for _ in range(times):
                grow(conn, platform.now, keys.password_mac(None))
            touch(conn, EVERYTHING)

        platform.run(grow_all)
        assert asking.get(f"/api/v1{path}").status == 200  # what is kept in memory is read again here
        with counted_statements(platform.db.engines) as sent:
            reply = asking.get(f"/api/v1{path}")
        return len(sent), len(reply.body)

    few, short = asked(2)
    many, long = asked(20)
    assert few == many
    assert long > short  # of fails, players are told the number alone
