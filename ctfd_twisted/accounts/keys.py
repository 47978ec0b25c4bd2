"""What is signed or derived with the secret key, beside the session cookie (accounts-and-sessions.md section 2).

CTFd's own constructions are kept where something of CTFd's must keep working with the same secret key: signed tokens
and team invites. What is new uses HMAC-SHA256 with a key of its own per purpose.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from datetime import datetime
from functools import lru_cache
from typing import Any, Final

from itsdangerous import TimestampSigner, URLSafeTimedSerializer

#: How long an invite to a team can be redeemed, in seconds.
INVITE_SECONDS: Final = 86_400

# How the ids of the two kinds of signed-in sessions begin.
_SESSION: Final = "s."
_SHOWN: Final = "t."


def new_session_sid() -> str:
    """Return a fresh random id for a signed-in session.

    Its first letters tell it from the ids of visitors, so that nobody looks those up in the database.
    """
    return _SESSION + secrets.token_urlsafe(32)


def may_be_signed_in(sid: str) -> bool:
    """Return whether *sid* is of the kind that a row of ``ctfp_sessions`` may stand behind."""
    return sid.startswith(_SESSION)


def sid_hash(sid: str) -> str:
    """Return what the database keeps of a session id: its SHA-256 in hex."""
    return hashlib.sha256(sid.encode()).hexdigest()


def token_id_of(sid: str) -> int | None:
    """Return the id of the access token that *sid* claims to belong to; ``None`` for any other session."""
    number = sid.removeprefix(_SHOWN).partition(".")[0]
    return int(number) if sid.startswith(_SHOWN) and number.isascii() and number.isdigit() else None


class Keys:
    """The secret key and what is made with it; *secret_key* is the file's bytes, or CTFd's text in UTF-8."""

    def __init__(self, secret_key: bytes) -> None:
        self._secret = secret_key
        self._token_sessions = self.derived("token sessions")
        # The same few thousand are asked for at every request.
        self.token_sid = lru_cache(maxsize=20_000)(self._token_sid)

    def derived(self, purpose: str) -> bytes:
        """Return a key of 32 bytes for one *purpose*; keys of different purposes tell nothing of each other."""
        return hmac.digest(self._secret, f"ctfd-twisted {purpose}".encode(), hashlib.sha256)

    def mail_key(self) -> bytes:
        """Return the key that seals mails in the outbox, as Fernet takes it."""
        return base64.urlsafe_b64encode(self.derived("mail"))

    def password_mac(self, stored: str | None) -> str:
        """Return the keyed hash of a stored password hash (of the empty text where there is none), as CTFd makes it."""
        return self.plain_mac(stored or "")

    def reset_mac(self, user_id: int, password_mac: str, email: str | None) -> str:
        """Return the part of a link for a new password that dies with the present password and e-mail address."""
        text = f"{user_id}:{password_mac}:{email or ''}"
        mac = hmac.digest(self.derived("password reset"), text.encode("utf-8", "surrogatepass"), hashlib.sha256)
        return base64.urlsafe_b64encode(mac).decode("ascii").rstrip("=")

    def _token_sid(self, token_id: int, digest: str) -> str:
        """Return the session id that belongs to an access token whose value has the SHA-256 *digest* (hex).

        It is the same at every request, so a client may store its cookie and no row is needed; it dies with the token.
        """
        mac = hmac.digest(self._token_sessions, f"{token_id}:{digest}".encode(), hashlib.sha256)
        return f"{_SHOWN}{token_id}.{base64.urlsafe_b64encode(mac).decode('ascii').rstrip('=')}"

    def plain_mac(self, text: str) -> str:
        """Return the hex HMAC-SHA1 of *text*, CTFd's plain signature."""
        return hmac.digest(self._secret, text.encode(), hashlib.sha1).hex()

    def sign(self, now: datetime, payload: object) -> str:
        """Return *payload* as a signed token ``<payload>.<time>.<signature>`` made at *now*."""
        return str(self._serializer(now).dumps(payload))

    def read_signed(self, now: datetime, token: str, max_age: int) -> Any:
        """Return the payload of a signed *token* that is at most *max_age* seconds old at *now*.

        Raises ``itsdangerous.SignatureExpired`` for an old one and ``itsdangerous.BadSignature`` for anything else.
        """
        return self._serializer(now).loads(token, max_age=max_age)

    def team_mac(self, team_id: int, password_hash: str | None) -> str:
        """Return the part of a team's invite that dies with the team's password."""
        key = self._secret + (password_hash or "").encode()
        return hmac.digest(key, str(team_id).encode("ascii"), hashlib.sha1).hex()

    def _serializer(self, now: datetime) -> URLSafeTimedSerializer:
        # Time is an argument here as everywhere: itsdangerous would ask the system's clock.
        return URLSafeTimedSerializer(self._secret, signer=_SignerAt, signer_kwargs={"now": int(now.timestamp())})


class _SignerAt(TimestampSigner):
    """A signer whose clock stands still at *now* (epoch seconds)."""

    def __init__(self, *args: Any, now: int, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._now = now

    def get_timestamp(self) -> int:
        """Return *now*."""
        return self._now
