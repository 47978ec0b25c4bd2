"""A link by which somebody chooses a new password: what it says, whose it is, and what is stored by it.

A link works once and for half an hour, and dies with any change of the password or the e-mail address
(accounts-and-sessions.md sections 3 and 7, security.md section 5).
"""

from __future__ import annotations

import hmac
from datetime import datetime
from typing import Any, Final

import msgspec
from itsdangerous import BadSignature
from sqlalchemy import Connection, select, update

from ctfd_twisted.accounts.identity import Player
from ctfd_twisted.accounts.keys import Keys
from ctfd_twisted.accounts.players import load_player
from ctfd_twisted.accounts.sessions import end_sessions
from ctfd_twisted.accounts.tables import users
from ctfd_twisted.db.notices import touch
from ctfd_twisted.db.writes import locked
from ctfd_twisted.mail.store import SealedLetter, enqueue

#: How long a link can be followed, in seconds.
LINK_SECONDS: Final = 1800

_OWNERS: Final = select(users.c.id, users.c.name, users.c.email, users.c.password, users.c.oauth_id)


class LinkOwner(msgspec.Struct, frozen=True):
    """Whose new password a link is for.

    ``signs_in_first``: the link counts only for its owner, signed in by the present password.
    """

    user_id: int
    name: str
    email: str | None
    oauth_id: int | None
    signs_in_first: bool


def make_link(keys: Keys, now: datetime, player: Player, *, signs_in_first: bool) -> str:
    """Return the signed part of a link for *player*, whose ``session_hash`` must be filled."""
    mac = keys.reset_mac(player.id, player.session_hash, player.email)
    return keys.sign(now, {"user": player.id, "v": mac, "sign_in": signs_in_first})


def find_owner(conn: Connection, now: datetime, keys: Keys, link: str, *, lock: bool = False) -> LinkOwner | None:
    """Return the owner of *link*, ``None`` where it is unknown, too old, or used; *lock* keeps it as it is found."""
    claimed = _claimed(keys, now, link)
    user_id = claimed.get("user")
    if not isinstance(user_id, int):
        return None
    statement = _OWNERS.where(users.c.id == user_id)
    row = conn.execute(locked(statement, conn) if lock else statement).first()
    if row is None:
        return None
    mac = keys.reset_mac(row.id, keys.password_mac(row.password), row.email)
    if not hmac.compare_digest(mac, str(claimed.get("v"))):
        return None
    return LinkOwner(row.id, row.name or "", row.email, row.oauth_id, bool(claimed.get("sign_in")))


def store_new_password(
    conn: Connection, now: datetime, keys: Keys, link: str, hashed: str, letter: SealedLetter | None
) -> bool:
    """Give the owner of *link* the password *hashed*, end all their sessions, and owe them the *letter*.

    Returns false, and changes nothing, where the link no longer counts: of two that use it at once, one succeeds.
    """
    owner = find_owner(conn, now, keys, link, lock=True)
    if owner is None:
        return False
    conn.execute(update(users).where(users.c.id == owner.user_id).values(password=hashed, change_password=False))
    end_sessions(conn, owner.user_id)
    touch(conn, "accounts")
    if letter is not None:
        enqueue(conn, now, letter)
    return True


def player_by_email(conn: Connection, keys: Keys, email: str) -> Player | None:
    """Return who has this e-mail address, as it is written, with their ``session_hash``."""
    user_id = conn.scalar(select(users.c.id).where(users.c.email == email))
    return None if user_id is None else load_player(conn, user_id, keys)


def owe(conn: Connection, now: datetime, letter: SealedLetter | None) -> None:
    """Owe a *letter*, where there is one."""
    if letter is not None:
        enqueue(conn, now, letter)


def _claimed(keys: Keys, now: datetime, link: str) -> dict[str, Any]:
    try:
        payload = keys.read_signed(now, link, LINK_SECONDS)
    except BadSignature:
        return {}
    return payload if isinstance(payload, dict) else {}
