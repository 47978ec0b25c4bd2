"""Who is asking: from memory once it was asked, never older than the last commit, never waiting for what is known."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, update
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from ctfd_twisted.accounts import sessions, tokens
from ctfd_twisted.accounts.directory import Directory
from ctfd_twisted.accounts.hasher import Hasher
from ctfd_twisted.accounts.identity import Player
from ctfd_twisted.accounts.keys import Keys
from ctfd_twisted.accounts.membership import put_in_team
from ctfd_twisted.accounts.newcomers import insert_team, insert_user
from ctfd_twisted.accounts.tables import users
from ctfd_twisted.db.behind import WriteBehind
from ctfd_twisted.db.database import Database, Done, start_inline
from ctfd_twisted.db.engine import open_engines
from ctfd_twisted.db.notices import Bus, touch
from ctfd_twisted.errors import Unauthorized
from ctfd_twisted.http.callers import MISS, STALE
from ctfd_twisted.schema import metadata
from ctfd_twisted.testing import result_of
from ctfd_twisted.testing.builders import a_team, a_user

KEYS = Keys(b"a secret")
SID = "s.a session"


class House:
    """A directory over a database whose reads can be held up."""

    def __init__(self) -> None:
        self.bus = Bus()
        self.reads = 0
        self.held: list[Callable[[], None]] | None = None
        self.db = Database(open_engines("sqlite://"), self.bus, write=start_inline, read=self._read)
        metadata.create_all(self.db.engines.write_engine)
        behind = WriteBehind(self.db, Clock())
        self.directory = Directory(self.db, behind, KEYS, Hasher(start_inline, rounds=4))

    def _read(self, work: Callable[[], Any], done: Done) -> None:
        self.reads += 1
        if self.held is None:
            start_inline(work, done)
        else:
            self.held.append(lambda: start_inline(work, done))

    def run(self, fn: Callable[..., Any], *args: Any) -> Any:
        return result_of(self.db.run(fn, *args))

    def signed_in(self, now: datetime) -> int:
        user_id: int = self.run(a_user)
        self.run(sessions.open_session, now, user_id, sessions.Entrance(SID, KEYS.password_mac(None), "::1", ""))
        return user_id

    def change(self, user_id: int, **values: Any) -> None:
        def edit(conn: Connection) -> None:
            conn.execute(update(users).where(users.c.id == user_id).values(**values))
            touch(conn, "accounts")

        self.run(edit)


@pytest.fixture
def house() -> Iterator[House]:
    house = House()
    yield house
    house.db.close()


def test_a_visitors_session_is_never_looked_up(house: House, now: datetime) -> None:
    for sid in ("anything", "", "t.x", "s"):
        assert house.directory.ready_session(sid, now) is None
        assert result_of(house.directory.session(sid, now)) is None
    assert house.reads == 0


def test_a_session_is_looked_up_once(house: House, now: datetime) -> None:
    user_id = house.signed_in(now)
    assert house.directory.ready_session(SID, now) is MISS
    player = result_of(house.directory.session(SID, now))
    assert isinstance(player, Player)
    assert player.id == user_id
    reads = house.reads
    for _ in range(3):
        assert house.directory.ready_session(SID, now) is player
    assert house.reads == reads


def test_an_unknown_session_is_remembered_as_such(house: House, now: datetime) -> None:
    assert result_of(house.directory.session("s.unknown", now)) is None
    assert house.directory.ready_session("s.unknown", now) is None


def test_a_change_of_the_account_counts_at_once(house: House, now: datetime) -> None:
    user_id = house.signed_in(now)
    result_of(house.directory.session(SID, now))
    house.change(user_id, banned=True)
    assert house.directory.ready_session(SID, now) is MISS
    player = result_of(house.directory.session(SID, now))
    assert isinstance(player, Player)
    assert player.banned


def test_a_new_password_makes_the_session_stale_until_it_is_renewed(house: House, now: datetime) -> None:
    user_id = house.signed_in(now)
    house.change(user_id, password="hash")
    assert result_of(house.directory.session(SID, now)) is STALE
    assert house.directory.ready_session(SID, now) is STALE
    house.run(sessions.renew_session, now, SID, KEYS.password_mac("hash"))
    assert isinstance(result_of(house.directory.session(SID, now)), Player)


def test_a_session_ends_by_its_time_and_by_being_closed(house: House, now: datetime) -> None:
    house.signed_in(now)
    result_of(house.directory.session(SID, now))
    assert house.directory.ready_session(SID, now + sessions.LASTS) is None
    assert isinstance(house.directory.ready_session(SID, now), Player)
    house.run(sessions.close_session, SID)
    assert result_of(house.directory.session(SID, now)) is None


def test_a_commit_meanwhile_does_not_keep_a_request_waiting(house: House, now: datetime) -> None:
    """During a rush of sign-ups every commit drops all players; each question still needs one look."""
    user_id = house.signed_in(now)
    house.held = []
    waiting = Deferred.fromCoroutine(house.directory.session(SID, now))
    house.change(user_id, name="renamed")
    house.held.pop(0)()
    player = result_of(waiting)
    assert isinstance(player, Player)
    assert player.name == "renamed"
    assert house.held == []


def test_what_was_read_before_a_commit_is_kept_for_nobody(house: House, now: datetime) -> None:
    user_id = house.signed_in(now)
    house.held = []
    waiting = Deferred.fromCoroutine(house.directory.session(SID, now))
    read = house.held.pop(0)
    house.change(user_id, banned=True)
    read()
    assert isinstance(result_of(waiting), Player)
    assert house.directory.ready_session(SID, now) is MISS


def test_a_token_is_looked_up_once_and_refused_from_memory(house: House, now: datetime) -> None:
    user_id: int = house.run(a_user)
    _, value = house.run(tokens.create_token, now, user_id, now + timedelta(hours=1), None)
    assert house.directory.ready_token(value, now) is MISS
    caller = result_of(house.directory.token(value, now))
    assert caller.player.id == user_id
    reads = house.reads
    assert house.directory.ready_token(value, now) == caller
    with pytest.raises(Unauthorized, match="Your access token has expired"):
        house.directory.ready_token(value, now + timedelta(hours=1))
    with pytest.raises(Unauthorized, match="Your access token is invalid"):
        result_of(house.directory.token("unknown", now))
    with pytest.raises(Unauthorized, match="Your access token is invalid"):
        house.directory.ready_token("unknown", now)
    assert house.reads == reads + 1


def test_a_revoked_token_is_refused_at_once(house: House, now: datetime) -> None:
    token, value = house.run(tokens.create_token, now, house.run(a_user), None, None)
    caller = result_of(house.directory.token(value, now))
    house.run(lambda conn: tokens.delete_token(conn, token.id, owner=None))
    with pytest.raises(Unauthorized):
        result_of(house.directory.token(value, now))
    assert result_of(house.directory.session(caller.sid, now)) is None


def test_the_session_of_a_token_is_its_owners_from_memory_too(house: House, now: datetime) -> None:
    token, value = house.run(tokens.create_token, now, house.run(a_user), now + timedelta(hours=1), None)
    sid = result_of(house.directory.token(value, now)).sid
    assert house.directory.ready_session(sid, now) is MISS
    assert result_of(house.directory.session(sid, now)) == house.directory.ready_session(sid, now)
    assert house.directory.ready_session(sid, now + timedelta(hours=1)) is None
    forged = KEYS.token_sid(token.id, "another digest")
    assert house.directory.ready_session(forged, now) is None


def test_without_a_preset_admin_its_session_is_nobodys(house: House, now: datetime) -> None:
    sid = KEYS.token_sid(0, tokens.digest_of("preset"))
    assert result_of(house.directory.session(sid, now)) is None


def test_somebody_new_makes_nobody_else_be_looked_up_again(now: datetime) -> None:
    house = House()
    house.signed_in(now)
    who = result_of(house.directory.session(SID, now))
    reads = house.reads
    house.run(lambda conn: insert_user(conn, now, name="new", email="new@example.org"))
    house.run(lambda conn: insert_team(conn, now, name="newer"))
    assert house.directory.ready_session(SID, now) == who
    assert house.reads == reads
    house.run(touch, "accounts")  # a ban, for example
    assert house.directory.ready_session(SID, now) is MISS
    house.db.close()


def test_who_joins_a_team_is_looked_up_again_and_nobody_else(house: House, now: datetime) -> None:
    user_id = house.signed_in(now)
    alone = result_of(house.directory.session(SID, now))
    assert isinstance(alone, Player)
    other, team = house.run(a_user), house.run(a_team)
    house.run(put_in_team, other, team)
    assert house.directory.ready_session(SID, now) is alone
    house.run(put_in_team, user_id, team)
    assert house.directory.ready_session(SID, now) is MISS
    member = result_of(house.directory.session(SID, now))
    assert isinstance(member, Player)
    assert (alone.team_id, member.team_id) == (None, team)
