"""That an e-mail address is its owner's, shown by a link in a mail (accounts-and-sessions.md section 7).

A link is signed and names the address. It works once, because a confirmed address needs no confirmation, and dies when
nobody has the address any more; so nothing has to be stored for it.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from itsdangerous import BadSignature
from sqlalchemy import Connection, select, update

from ctfd_twisted.accounts.keys import Keys
from ctfd_twisted.accounts.tables import users
from ctfd_twisted.db.notices import touch
from ctfd_twisted.db.writes import locked
from ctfd_twisted.errors import NotFound
from ctfd_twisted.mail.store import SealedLetter, enqueue

#: How long a link can be followed, in seconds.
LINK_SECONDS: Final = 1800
_ADDRESS: Final = "confirms"


def make_confirmation(keys: Keys, now: datetime, email: str) -> str:
    """Return the signed part of a link that confirms *email*."""
    return keys.sign(now, {_ADDRESS: email})


def confirmed_address(keys: Keys, now: datetime, link: str) -> str | None:
    """Return the address that *link* confirms; ``None`` where it is unknown or too old."""
    try:
        payload = keys.read_signed(now, link, LINK_SECONDS)
    except BadSignature:
        return None
    email = payload.get(_ADDRESS) if isinstance(payload, dict) else None
    return email if isinstance(email, str) else None


def confirm_address(conn: Connection, now: datetime, email: str, letter: SealedLetter | None) -> bool:
    """Note that *email* is its owner's, owe them the *letter*, and return whether that was news.

    Raises ``NotFound`` where nobody has the address.
    """
    row = conn.execute(locked(select(users.c.id, users.c.verified).where(users.c.email == email), conn)).first()
    if row is None:
        raise NotFound
    if row.verified:
        return False
    conn.execute(update(users).where(users.c.id == row.id).values(verified=True))
    if letter is not None:
        enqueue(conn, now, letter)
    touch(conn, "accounts")
    return True
