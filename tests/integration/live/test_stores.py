"""What streams tell, read from both kinds of databases."""

from datetime import datetime, timedelta

from msgspec import json
from sqlalchemy import Connection, update

from ctfd_twisted.accounts.keys import Keys, new_session_sid, sid_hash
from ctfd_twisted.accounts.sessions import Entrance, find_sessions, open_session
from ctfd_twisted.accounts.tables import users
from ctfd_twisted.competition.store import write_config
from ctfd_twisted.content.notices_store import NoticeFields, create_notice
from ctfd_twisted.koth.tables import hills
from ctfd_twisted.live import solves_store
from ctfd_twisted.live.news_store import KEPT, read_hill_states, read_kings, read_notices
from ctfd_twisted.live.solves_store import read_solves
from ctfd_twisted.live.views import View
from ctfd_twisted.testing.builders import a_challenge, a_solve, a_user
from ctfd_twisted.testing.hills import a_hill
from ctfd_twisted.webhooks.events import Named, SolveCreated, moment
from ctfd_twisted.webhooks.store import emit_solve


def solved(conn: Connection, now: datetime, user_id: int, challenge_id: int) -> int:
    """A solve as it is recorded and logged; its id."""
    number = a_solve(conn, challenge_id, user_id, date=now)
    event = SolveCreated(number, challenge_id, None, None, Named(user_id, "then"), moment(now))
    emit_solve(conn, now, event, listed=True, teams_mode=False)
    return number


def test_solves_follow_one_another_and_tell_the_first(any_conn: Connection, now: datetime) -> None:
    write_config(any_conn, {"setup": True})
    challenge = a_challenge(any_conn)
    ada, bob = a_user(any_conn, name="ada"), a_user(any_conn, name="bob")
    ids = [solved(any_conn, now, user, challenge) for user in (ada, bob)]
    found = read_solves(any_conn, now, 0)
    told = [json.decode(solve.data[View.PLAYER]) for solve in found.solves]
    assert [(one["id"], one["user"]["name"], one["first_blood"]) for one in told] == [
        (ids[0], "ada", True),
        (ids[1], "bob", False),
    ]
    # The first blood is an event of its own.
    assert (found.floor, found.last) == (0, 3)
    assert [solve.seq for solve in read_solves(any_conn, now, found.solves[0].seq).solves] == [3]
    any_conn.execute(update(users).where(users.c.id == ada).values(banned=True))
    hidden, shown = read_solves(any_conn, now, 0).solves
    assert set(hidden.data) == {View.ADMIN}
    assert set(shown.data) == set(View)


def test_so_many_solves_are_kept(any_conn: Connection, now: datetime) -> None:
    write_config(any_conn, {"setup": True})
    user = a_user(any_conn)
    for _ in range(solves_store.KEPT + 3):
        solved(any_conn, now, user, a_challenge(any_conn))
    found = read_solves(any_conn, now, 0)
    assert len(found.solves) == solves_store.KEPT
    assert found.floor == found.solves[0].seq - 1


def test_notifications_are_drawn_once(any_conn: Connection, now: datetime) -> None:
    for number in range(KEPT + 2):
        create_notice(any_conn, now + timedelta(seconds=number), NoticeFields(title=f"n{number}"))
    found = read_notices(any_conn, ())
    assert [shown and shown["title"] for shown in found.values()] == [f"n{number}" for number in range(2, KEPT + 2)]
    assert set(read_notices(any_conn, found).values()) == {None}


def test_kings_are_read(any_conn: Connection, now: datetime) -> None:
    write_config(any_conn, {"setup": True})
    number = a_hill(any_conn)
    any_conn.execute(update(hills).values(king_user_id=a_user(any_conn, name="ada")))
    told = read_hill_states(any_conn, now)
    assert told[View.ONLOOKER] is None
    (hill,) = told[View.PLAYER] or ()
    assert json.decode(hill.data)["king"]["name"] == "ada"
    assert len(read_kings(any_conn, now, {number})) == 1


def test_many_sessions_are_found_at_once(any_conn: Connection, now: datetime) -> None:
    keys = Keys(b"secret")
    ada, bob = a_user(any_conn), a_user(any_conn)
    sids = {new_session_sid(): user for user in (ada, bob, ada)}
    for sid, user in sids.items():
        open_session(any_conn, now, user, Entrance(sid, keys.password_mac(None), "::1", ""))
    wanted = [sid_hash(sid) for sid in sids] + [f"{number:064x}" for number in range(1_500)]
    found = find_sessions(any_conn, wanted, keys)
    assert {hashed: session.player.id for hashed, session in found.items()} == {
        sid_hash(sid): user for sid, user in sids.items()
    }
    assert {session.player.session_hash for session in found.values()} == {keys.password_mac(None)}
