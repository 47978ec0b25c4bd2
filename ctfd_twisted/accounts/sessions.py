"""Signed-in sessions: one row each, found by the SHA-256 of the session id (accounts-and-sessions.md section 3)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Final

import msgspec
from sqlalchemy import Connection, bindparam, delete, select, update

from ctfd_twisted.accounts.identity import Player
from ctfd_twisted.accounts.keys import Keys, sid_hash
from ctfd_twisted.accounts.players import player_of, players
from ctfd_twisted.accounts.sessions_tables import sessions
from ctfd_twisted.accounts.tables import users
from ctfd_twisted.db.notices import touch

#: How long a session lives after signing in.
LASTS: Final = timedelta(days=7)
#: How much of a session id's hash names the session to its owner; enough to tell the sessions of one person apart.
_NAME_LENGTH: Final = 16
_AGENT_LENGTH: Final = 400

_BY_HASH: Final = (
    players(sessions.c.password_mac, sessions.c.expires)
    .join(sessions, sessions.c.user_id == users.c.id)
    .where(sessions.c.sid_hash == bindparam("sid_hash"))
)
_BY_HASHES: Final = (
    players(sessions.c.sid_hash, sessions.c.password_mac, sessions.c.expires)
    .join(sessions, sessions.c.user_id == users.c.id)
    .where(sessions.c.sid_hash.in_(bindparam("sid_hashes", expanding=True)))
)
#: So many sessions are asked for at once; some databases take no more parameters than a few ten thousand.
_AT_ONCE: Final = 1_000
_SEEN: Final = (
    update(sessions)
    .where(sessions.c.sid_hash.in_(bindparam("sid_hashes", expanding=True)))
    .values(seen=bindparam("at"))
)  # fmt: skip


class Session(msgspec.Struct, frozen=True):
    """Whose session it is, until when, and the keyed hash of the password hash it began with."""

    player: Player
    password_mac: str
    expires: datetime


class OpenSession(msgspec.Struct, frozen=True):
    """One session as its owner may see it."""

    id: str
    created: datetime
    expires: datetime
    seen: datetime
    address: str
    user_agent: str


class Entrance(msgspec.Struct, frozen=True):
    """How somebody signs in: the fresh session id, and where they come from.

    ``password_mac`` is the keyed hash of their stored password hash; ``replaces`` is the session id they came with.
    """

    sid: str
    password_mac: str
    address: str
    user_agent: str
    replaces: str | None = None


def topic_of(hashed: str) -> str:
    """Return the topic that tells of the end of the session with this hash."""
    return f"session:{hashed}"


def open_session(conn: Connection, now: datetime, user_id: int, entrance: Entrance) -> None:
    """Sign *user_id* in under a fresh session id, in place of the session that they came with.

    Nobody has asked for that id before, so no topic is told. Sessions that have expired are forgotten here.
    """
    if entrance.replaces is not None:
        close_session(conn, entrance.replaces)
    conn.execute(delete(sessions).where(sessions.c.expires <= now))
    conn.execute(
        sessions.insert().values(
            sid_hash=sid_hash(entrance.sid),
            user_id=user_id,
            password_mac=entrance.password_mac,
            created=now,
            expires=now + LASTS,
            seen=now,
            address=entrance.address,
            user_agent=entrance.user_agent[:_AGENT_LENGTH],
        )
    )


def find_session(conn: Connection, hashed: str, keys: Keys | None = None) -> Session | None:
    """Return the session with this hash, expired or not.

    The player's ``session_hash`` is filled where *keys* are given.
    """
    row = conn.execute(_BY_HASH, {"sid_hash": hashed}).first()
    return None if row is None else Session(player_of(row, keys), row.password_mac, row.expires)


def find_sessions(conn: Connection, hashes: Collection[str], keys: Keys) -> dict[str, Session]:
    """Return the sessions with these hashes, expired or not, by their hashes; each player's ``session_hash`` filled."""
    wanted = list(hashes)
    return {
        row.sid_hash: Session(player_of(row, keys), row.password_mac, row.expires)
        for begin in range(0, len(wanted), _AT_ONCE)
        for row in conn.execute(_BY_HASHES, {"sid_hashes": wanted[begin : begin + _AT_ONCE]})
    }


def close_session(conn: Connection, sid: str) -> None:
    """End the session *sid*, if there is one."""
    hashed = sid_hash(sid)
    if conn.execute(delete(sessions).where(sessions.c.sid_hash == hashed)).rowcount:
        touch(conn, topic_of(hashed))


def renew_session(conn: Connection, now: datetime, sid: str, password_mac: str | None) -> None:
    """Let the session *sid* live its full time from *now* on.

    With the *password_mac* of a new password it survives that; every other session of its owner ends by the change.
    """
    hashed = sid_hash(sid)
    values = (
        {"expires": now + LASTS} if password_mac is None else {"expires": now + LASTS, "password_mac": password_mac}
    )
    if conn.execute(update(sessions).where(sessions.c.sid_hash == hashed).values(**values)).rowcount:
        touch(conn, topic_of(hashed))


def list_sessions(conn: Connection, now: datetime, user_id: int, keys: Keys) -> tuple[OpenSession, ...]:
    """Return the sessions of a user that are open, the newest first: not those that a changed password has ended."""
    return open_sessions(
        conn, now, user_id, keys.password_mac(conn.scalar(select(users.c.password).where(users.c.id == user_id)))
    )


def open_sessions(conn: Connection, now: datetime, user_id: int, password_mac: str) -> tuple[OpenSession, ...]:
    """Return the same for a user whose present password has this keyed hash."""
    found = conn.execute(
        select(sessions)
        .where(sessions.c.user_id == user_id, sessions.c.expires > now, sessions.c.password_mac == password_mac)
        .order_by(sessions.c.created.desc(), sessions.c.sid_hash)
    )
    return tuple(
        OpenSession(name_of(row.sid_hash), row.created, row.expires, row.seen, row.address, row.user_agent)
        for row in found
    )


def name_of(hashed: str) -> str:
    """Return the name under which its owner knows the session with this hash."""
    return hashed[:_NAME_LENGTH]


def end_sessions(conn: Connection, user_id: int, *, name: str | None = None, but: str | None = None) -> int:
    """End sessions of a user and return how many there were.

    *name* chooses one by its name; *but* is a session id that stays.
    """
    mine = conn.scalars(select(sessions.c.sid_hash).where(sessions.c.user_id == user_id)).all()
    kept = None if but is None else sid_hash(but)
    ended = [hashed for hashed in mine if hashed != kept and (name is None or name_of(hashed) == name)]
    if ended:
        conn.execute(delete(sessions).where(sessions.c.sid_hash.in_(ended)))
        touch(conn, *map(topic_of, ended))
    return len(ended)


def record_seen(conn: Connection, seen: Mapping[str, datetime]) -> None:
    """Note when sessions were used, by their hashes.

    All get the newest of these instants, so what is written together should be of one moment.
    """
    conn.execute(_SEEN, {"sid_hashes": list(seen), "at": max(seen.values())})
