"""Password hashes as CTFd stores them: ``bcrypt_sha256`` in passlib's layout (accounts-and-sessions.md section 1).

Verifying and making a hash take tens of milliseconds of processor time on purpose: outside tests they are called
through :class:`ctfd_twisted.accounts.hasher.Hasher`, never in the reactor's thread.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from typing import Final, NamedTuple

import bcrypt

#: A stored cost above this, the highest that the settings take, is treated as malformed: bcrypt itself goes on to 31,
#: at which one imported row would occupy a thread for a day.
MOST_ROUNDS: Final = 20

_LAYOUT: Final = re.compile(
    r"\$bcrypt-sha256\$(?:v=2,t=(?P<type2>2[ab]),r=(?P<rounds2>\d{1,2})|(?P<type1>2[ab]),(?P<rounds1>\d{1,2}))"
    r"\$(?P<salt>[./A-Za-z0-9]{22})\$(?P<digest>[./A-Za-z0-9]{31})",
    re.ASCII,
)


class _Hash(NamedTuple):
    salted: bool  # version 2: the digest that bcrypt gets is keyed with the salt
    ident: str
    rounds: int
    salt: str
    digest: str


def make_hash(password: str, rounds: int) -> str:
    """Return a new version 2 hash of *password* with a random salt and bcrypt cost *rounds* (4 to 20)."""
    salt = bcrypt.gensalt(rounds)[-22:].decode("ascii")
    digest = _digest(password, _Hash(True, "2b", rounds, salt, ""))
    return f"$bcrypt-sha256$v=2,t=2b,r={rounds}${salt}${digest}"


def verify(password: str, stored: str | None) -> bool:
    """Return whether *password* belongs to the *stored* hash (version 1 or 2).

    A missing or malformed hash fits nothing.
    """
    parsed = _parse(stored)
    if parsed is None:
        return False
    try:
        digest = _digest(password, parsed)
    except ValueError:  # bcrypt refuses a cost below 4, and salts whose unused bits are set
        return False
    return hmac.compare_digest(digest, parsed.digest)


def decoy(like: str | None, rounds: int) -> str:
    """Return a hash that fits no known password and costs as much to verify as *like* (else *rounds*).

    Verified in place of a hash that does not exist, so that a sign-in takes the same time for a name that nobody has.
    """
    parsed = _parse(like)
    cost = rounds if parsed is None else parsed.rounds
    return f"$bcrypt-sha256$v=2,t=2b,r={cost}${'.' * 22}${'.' * 31}"


def _parse(stored: str | None) -> _Hash | None:
    match = _LAYOUT.fullmatch(stored or "")
    if match is None:
        return None
    second = match["type2"] is not None
    rounds = int(match["rounds2"] if second else match["rounds1"])
    if rounds > MOST_ROUNDS:
        return None
    return _Hash(second, match["type2"] or match["type1"], rounds, match["salt"], match["digest"])


def _digest(password: str, parts: _Hash) -> str:
    # A lone surrogate can arrive through a JSON escape; it is hashed as it stands instead of failing.
    raw = password.encode("utf-8", "surrogatepass")
    if parts.salted:
        short = hmac.digest(parts.salt.encode("ascii"), raw, hashlib.sha256)
    else:
        short = hashlib.sha256(raw).digest()
    settings = f"${parts.ident}${parts.rounds:02d}${parts.salt}".encode("ascii")
    return bcrypt.hashpw(base64.b64encode(short), settings)[-31:].decode("ascii")
