"""That an e-mail address is its owner's, shown by a link in a mail (accounts-and-sessions.md section 7).

A link is signed and names the address. It works once, because a confirmed address needs no confirmation, and dies when
the address or the password of the account changes; so nothing has to be stored for it.
"""

from __future__ import annotations

import hashlib
import hmac
from datetime import datetime
from typing import Final

import msgspec
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
_ACCOUNT: Final = select(users.c.id, users.c.verified, users.c.password)


class Claim(msgspec.Struct, frozen=True):
    """What a link says: an address, and the keyed hash of the password that its account had."""

    email: str
    mac: str


def make_confirmation(keys: Keys, now: datetime, email: str, password_mac: str) -> str:
    """Return the signed part of a link that confirms *email* while the password is that of *password_mac*."""
    return keys.sign(now, {_ADDRESS: email, "v": _mac(keys, password_mac)})


def read_confirmation(keys: Keys, now: datetime, link: str) -> Claim | None:
    """Return what *link* says; ``None`` where it is unknown or too old."""
    try:
        payload = keys.read_signed(now, link, LINK_SECONDS)
    except BadSignature:
        return None
    email = payload.get(_ADDRESS) if isinstance(payload, dict) else None
    return Claim(email, str(payload.get("v"))) if isinstance(email, str) else None


def confirm_address(conn: Connection, now: datetime, keys: Keys, claim: Claim, letter: SealedLetter | None) -> bool:
    """Note that an address is its owner's, owe them the *letter*, and return whether that was news.

    Raises ``NotFound`` where nobody has the address, or its account has another password by now.
    """
    row = conn.execute(locked(_ACCOUNT.where(users.c.email == claim.email), conn)).first()
    if row is None:
        raise NotFound
    if row.verified:
        return False
    if not hmac.compare_digest(_mac(keys, keys.password_mac(row.password)), claim.mac):
        raise NotFound
    conn.execute(update(users).where(users.c.id == row.id).values(verified=True))
    if letter is not None:
        enqueue(conn, now, letter)
    touch(conn, "accounts")
    return True


def _mac(keys: Keys, password_mac: str) -> str:
    return hmac.digest(keys.derived("confirmation"), password_mac.encode("ascii"), hashlib.sha256).hex()
