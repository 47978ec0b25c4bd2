"""The transactions of accounts on both databases: what is stored, what goes, and which rows stay."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, Table, func, select

from ctfd_twisted.accounts import sessions, tokens
from ctfd_twisted.accounts.awards import list_team_awards
from ctfd_twisted.accounts.bodies import NewPassword, OwnTeamBody, OwnUserBody, Sent, TeamBody, UserBody
from ctfd_twisted.accounts.brackets import BracketFilter, list_brackets
from ctfd_twisted.accounts.deletion import delete_team, delete_user
from ctfd_twisted.accounts.history import Asker, list_submissions, list_team_deeds, list_user_deeds
from ctfd_twisted.accounts.keys import Keys, sid_hash
from ctfd_twisted.accounts.membership import add_member, disband_own_team, remove_member
from ctfd_twisted.accounts.players import load_player
from ctfd_twisted.accounts.profiles import AccountFilter, list_teams, list_users, show_user
from ctfd_twisted.accounts.scores import own_profile, team_profile, user_profile
from ctfd_twisted.accounts.sessions_tables import sessions as session_rows
from ctfd_twisted.accounts.sessions_tables import token_uses
from ctfd_twisted.accounts.setup import SetupForm, set_up_competition
from ctfd_twisted.accounts.signin import find_credentials
from ctfd_twisted.accounts.signup import NewUser, register
from ctfd_twisted.accounts.tables import (
    audience_members,
    audiences,
    brackets,
    field_entries,
    fields,
    teams,
    tracking,
    users,
)
from ctfd_twisted.accounts.tables import tokens as token_rows
from ctfd_twisted.accounts.teams import create_team, edit_own_team, edit_team
from ctfd_twisted.accounts.tracking import record_sightings
from ctfd_twisted.accounts.users import create_user, edit_own_user, edit_user
from ctfd_twisted.challenges.tables import ratings
from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.competition.store import read_competition
from ctfd_twisted.content.tables import comments, notifications
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.errors import Invalid, NotFound
from ctfd_twisted.scoring.tables import awards, solves, submissions, unlocks
from ctfd_twisted.testing.builders import a_challenge, a_solve, a_submission, a_team, a_user, an_award

ENTRANCE = sessions.Entrance("s.x", "mac", "::1", "agent")
#: Every table in which a user leaves something, and the column that says so.
OF_A_USER = (
    notifications, awards, unlocks, solves, submissions, tracking, ratings, field_entries, comments, audience_members,
    session_rows, token_rows,
)  # fmt: skip


def count(conn: Connection, table: Table) -> int:
    return conn.scalar(select(func.count()).select_from(table)) or 0


def lives(conn: Connection, now: datetime, user_id: int, team_id: int | None = None) -> None:
    """The user leaves a row in every table that can hold one of theirs."""
    challenge = a_challenge(conn)
    a_solve(conn, challenge, user_id, team_id=team_id)
    a_submission(conn, challenge, user_id, team_id=team_id)
    an_award(conn, user_id, team_id=team_id)
    insert_row(conn, unlocks, {"user_id": user_id, "team_id": team_id, "target": 1, "type": "hints", "date": now})
    insert_row(conn, ratings, {"user_id": user_id, "challenge_id": challenge, "value": 1, "date": now})
    insert_row(conn, notifications, {"title": "t", "user_id": user_id, "date": now})
    insert_row(conn, comments, {"type": "user", "content": "c", "user_id": user_id, "date": now})
    insert_row(conn, comments, {"type": "standard", "content": "c", "author_id": user_id, "date": now})
    audience = insert_row(conn, audiences, {"name": "a", "type": "standard"})
    insert_row(conn, audience_members, {"audience_id": audience, "user_id": user_id})
    field = insert_row(conn, fields, {"name": "f", "type": "user", "field_type": "text"})
    insert_row(conn, field_entries, {"type": "user", "value": "v", "field_id": field, "user_id": user_id})
    record_sightings(conn, {(user_id, "::1"): now})
    sessions.open_session(conn, now, user_id, sessions.Entrance(f"s.{user_id}", "mac", "::1", "agent"))
    token, _ = tokens.create_token(conn, now, user_id, None, None)
    tokens.record_uses(conn, {token.id: now})


def test_a_deleted_user_leaves_nothing_and_others_everything(any_conn: Connection, now: datetime) -> None:
    team_id = a_team(any_conn)
    gone, other = a_user(any_conn, team_id=team_id), a_user(any_conn, team_id=team_id)
    any_conn.execute(teams.update().values(captain_id=gone))
    for user_id in (gone, other):
        lives(any_conn, now, user_id, team_id)
    delete_user(any_conn, 0, gone)
    for table in OF_A_USER:
        column: Any = table.c.user_id
        assert any_conn.execute(select(column).where(column == gone)).first() is None, table.name
        assert any_conn.execute(select(column).where(column == other)).first() is not None, table.name
    assert count(any_conn, token_uses) == 1
    assert any_conn.scalar(select(func.count()).where(comments.c.author_id == gone)) == 0
    assert any_conn.execute(select(teams)).one().captain_id is None
    delete_user(any_conn, 0, gone)
    with pytest.raises(Invalid):
        delete_user(any_conn, other, other)


def test_a_deleted_team_takes_its_own_and_leaves_its_members(any_conn: Connection, now: datetime) -> None:
    team_id, other_team = a_team(any_conn), a_team(any_conn)
    member, other = a_user(any_conn, team_id=team_id), a_user(any_conn, team_id=other_team)
    for user_id, their_team in ((member, team_id), (other, other_team)):
        lives(any_conn, now, user_id, their_team)
        insert_row(any_conn, notifications, {"title": "t", "team_id": their_team, "date": now})
        insert_row(any_conn, comments, {"type": "team", "content": "c", "team_id": their_team, "date": now})
        field = insert_row(any_conn, fields, {"name": "f", "type": "team", "field_type": "text"})
        insert_row(any_conn, field_entries, {"type": "team", "value": "v", "field_id": field, "team_id": their_team})
    delete_team(any_conn, team_id)
    for table in (notifications, awards, unlocks, solves, submissions, field_entries, comments):
        left = set(any_conn.scalars(select(table.c.team_id).where(table.c.team_id.is_not(None))))
        assert left == {other_team}, table.name
    assert any_conn.scalar(select(users.c.team_id).where(users.c.id == member)) is None
    assert count(any_conn, token_rows) == 2
    with pytest.raises(NotFound):
        delete_team(any_conn, team_id)


def test_what_a_removed_member_did_goes(any_conn: Connection, now: datetime) -> None:
    team_id, user_id = a_team(any_conn), a_user(any_conn)
    assert add_member(any_conn, team_id, user_id) == (user_id,)
    lives(any_conn, now, user_id, team_id)
    assert remove_member(any_conn, team_id, user_id) == ()
    for table in (awards, unlocks, solves, submissions):
        assert count(any_conn, table) == 0
    assert count(any_conn, ratings) == 1


def test_users_are_created_edited_listed_and_shown(any_conn: Connection, now: datetime) -> None:
    bracket = insert_row(any_conn, brackets, {"name": "b", "type": "users"})
    field = insert_row(any_conn, fields, {"name": "f", "type": "user", "field_type": "text", "public": True})
    body = UserBody(
        name="ada",
        email="ada@x.co",
        password="p",
        bracket_id=bracket,
        fields=[{"field_id": field, "value": {"a": [1]}}],
    )
    made = create_user(any_conn, now, Sent(body), NewPassword(hashed="hash"))
    assert (made.created, made.fields[0].value, made.hidden) == (now, {"a": [1]}, False)
    edited = edit_user(any_conn, 0, made.id, Sent(UserBody(hidden=True, type="admin")), NewPassword(hashed="other"))
    assert (edited.hidden, edited.type) == (True, "admin")
    assert list_users(any_conn, AccountFilter(), 1).items == ()
    everyone = AccountFilter(everyone=True, q="d", field="name", bracket=str(bracket))
    assert [user.name for user in list_users(any_conn, everyone, 1).items] == ["ada"]
    with pytest.raises(NotFound):
        show_user(any_conn, made.id, everyone=False)
    player = load_player(any_conn, made.id)
    assert player is not None
    assert (player.is_admin, player.hidden, player.bracket_id) == (True, True, bracket)
    own = OwnUserBody(name="Ada", fields=[{"field_id": field, "value": "new"}])
    assert edit_own_user(any_conn, now, Competition({}), made.id, Sent(own), NewPassword(), None).name == "Ada"
    assert list_brackets(any_conn, BracketFilter(q="b", field="name"))[0].id == bracket


def test_teams_are_created_edited_and_disbanded(any_conn: Connection, now: datetime) -> None:
    made = create_team(any_conn, now, Sent(TeamBody(name="T", password="p")), NewPassword(hashed="hash"))
    user_id = a_user(any_conn)
    add_member(any_conn, made.id, user_id)
    edited = edit_team(any_conn, made.id, Sent(TeamBody(captain_id=user_id, banned=True)), NewPassword())
    assert (edited.captain_id, edited.banned, edited.members) == (user_id, True, (user_id,))
    assert list_teams(any_conn, AccountFilter(), 1).total == 0
    captain = load_player(any_conn, user_id)
    assert captain is not None
    assert (captain.team_name, captain.team_banned) == ("T", True)
    changed = edit_own_team(any_conn, Competition({}), captain, Sent(OwnTeamBody(name="U")), NewPassword())
    assert changed.name == "U"
    disband_own_team(any_conn, Competition({}), user_id)
    assert count(any_conn, teams) == 0


def test_one_registers_and_signs_in(any_conn: Connection, now: datetime) -> None:
    insert_row(any_conn, fields, {"name": "f", "type": "user", "field_type": "boolean"})
    form = NewUser(name="eve", email="eve@x.co", password="p", answers={1: "on"})
    user_id = register(any_conn, now, Competition({}), form, "hash", ENTRANCE)
    for name in ("eve", "eve@x.co", " eve "):
        assert find_credentials(any_conn, name).stored == "hash"
    unknown = find_credentials(any_conn, "nobody")
    assert (unknown.user_id, unknown.stored, unknown.like) == (None, None, "hash")
    found = sessions.find_session(any_conn, sid_hash("s.x"))
    assert found is not None
    assert (found.player.id, found.expires) == (user_id, now + timedelta(days=7))
    keys = Keys(b"a key")
    sessions.renew_session(any_conn, now + timedelta(days=1), "s.x", "mac of another password")
    assert sessions.list_sessions(any_conn, now, user_id, keys) == ()
    sessions.renew_session(any_conn, now + timedelta(days=1), "s.x", keys.password_mac("hash"))
    (open_one,) = sessions.list_sessions(any_conn, now, user_id, keys)
    assert open_one.expires == now + timedelta(days=8)
    assert sessions.end_sessions(any_conn, user_id, but="s.x") == 0
    assert sessions.end_sessions(any_conn, user_id) == 1


def test_expired_sessions_are_forgotten_at_the_next_sign_in(any_conn: Connection, now: datetime) -> None:
    user_id = a_user(any_conn)
    sessions.open_session(any_conn, now, user_id, ENTRANCE)
    sessions.open_session(any_conn, now + timedelta(days=7), user_id, sessions.Entrance("s.y", "mac", "::1", "agent"))
    assert count(any_conn, session_rows) == 1


def test_the_competition_is_set_up(any_conn: Connection, now: datetime) -> None:
    form = SetupForm(ctf_name="2024", name="admin", email="a@b.co", password="p", verify_emails="true", team_size="4")
    admin_id = set_up_competition(any_conn, now, form, "hash", ENTRANCE)
    competition = read_competition(any_conn)
    assert (competition.is_set_up, competition.name, competition.truthy("verify_emails")) == (True, "2024", True)
    assert competition.integer("team_size", 0) == 4
    assert show_user(any_conn, admin_id, everyone=True).hidden
    with pytest.raises(Invalid):
        set_up_competition(any_conn, now, form, "hash")


def test_tokens_are_found_by_their_value_and_used(any_conn: Connection, now: datetime) -> None:
    user_id = a_user(any_conn)
    token, value = tokens.create_token(any_conn, now, user_id, None, "script")
    clear = "ctfd_" + "0" * 64
    insert_row(any_conn, token_rows, {"type": "user", "user_id": user_id, "value": clear})
    for shown in (value, clear):
        assert tokens.find_by_value(any_conn, shown) is not None
    tokens.keep_hash_only(any_conn, clear)
    owner = tokens.find_by_value(any_conn, clear)
    assert owner is not None
    assert (owner.player.id, owner.clear, owner.expired(now)) == (user_id, False, False)
    for at in (now, now + timedelta(hours=1)):
        tokens.record_uses(any_conn, {token.id: at, 999: at, owner.token_id: at})
        assert [token.last_used for token in tokens.list_tokens(any_conn, user_id)] == [at, at]
    stored = any_conn.scalar(select(token_rows.c.value).where(token_rows.c.id == token.id))
    assert tokens.find_by_value(any_conn, str(stored)) is None
    tokens.delete_token(any_conn, token.id, owner=None)
    assert any_conn.scalars(select(token_uses.c.token_id)).all() == [owner.token_id]


def test_sightings_keep_one_row_per_address(any_conn: Connection, now: datetime) -> None:
    user_id = a_user(any_conn)
    later = now + timedelta(hours=1)
    opened = {"type": "challenges.open", "ip": "::1", "target": 3, "user_id": user_id, "date": now}
    insert_row(any_conn, tracking, opened)
    record_sightings(any_conn, {(user_id, "::1"): now, (999, "::1"): now, (user_id, "::2"): now})
    record_sightings(any_conn, {(user_id, "::1"): later})
    rows = any_conn.execute(select(tracking).where(tracking.c.type.is_(None)).order_by(tracking.c.ip)).all()
    assert [(row.ip, row.date) for row in rows] == [("::1", later), ("::2", now)]


def test_histories_and_scores_are_read(any_conn: Connection, now: datetime) -> None:
    competition = Competition({"user_mode": "teams", "freeze": str(int(now.timestamp()) + 1)})
    team_id = a_team(any_conn)
    user_id = a_user(any_conn, team_id=team_id)
    challenge, late = a_challenge(any_conn), a_challenge(any_conn, dynamic={})
    a_solve(any_conn, challenge, user_id, team_id=team_id, date=now)
    a_solve(any_conn, late, user_id, team_id=team_id, date=now + timedelta(hours=1))
    an_award(any_conn, user_id, team_id=team_id, date=now + timedelta(hours=1))
    public, own = Asker(None, now), Asker(load_player(any_conn, user_id), now, own=True)
    assert len(list_team_deeds(any_conn, competition, public, team_id, "correct")) == 1
    assert len(list_user_deeds(any_conn, competition, own, user_id, "correct")) == 2
    assert len(list_team_awards(any_conn, competition, public, team_id)) == 0
    assert len(list_submissions(any_conn, competition, own, team_id, late)) == 1
    assert user_profile(any_conn, competition, user_id, everyone=False)[1] == 100
    assert own_profile(any_conn, competition, user_id)[1] == 250
    assert team_profile(any_conn, competition, team_id, everyone=False, frozen=True)[1] == 100
