"""The session cookie and the CSRF nonce.

A cookie is ``<sid>.<signature>`` as ``itsdangerous.Signer`` makes it. The nonce is derived from the session id with a
key of its own, so that an anonymous visitor has both without a row in the database; a new login makes a new id, hence
a new nonce.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections import OrderedDict
from typing import Final

from itsdangerous import BadSignature, Signer

COOKIE: Final = b"session"
#: So many verified and so many signed cookies are remembered.
KEPT: Final = 20_000


class Cookies:
    """Signs and reads session cookies for one secret key."""

    def __init__(self, secret_key: bytes, path: str) -> None:
        self._signer = Signer(secret_key)
        self._path = path
        self._nonce_key = hmac.digest(secret_key, b"ctfd-twisted csrf nonce", hashlib.sha256)
        self._read: OrderedDict[bytes, str] = OrderedDict()
        # A script without a cookie jar is given the same cookie with every answer.
        self._written: OrderedDict[str, str] = OrderedDict()

    def read(self, cookie: bytes | None) -> str | None:
        """The session id in *cookie*; None where there is none or its signature is wrong."""
        if not cookie:
            return None
        sid = self._read.get(cookie)
        if sid is not None:
            return sid
        try:
            sid = self._signer.unsign(cookie).decode("ascii")
        except (BadSignature, UnicodeDecodeError):
            return None
        self._read[cookie] = sid
        if len(self._read) > KEPT:
            self._read.popitem(last=False)
        return sid

    def nonce(self, sid: str) -> str:
        """The CSRF nonce of the session *sid*: 64 hexadecimal characters."""
        return hmac.digest(self._nonce_key, sid.encode("ascii"), hashlib.sha256).hex()

    def header(self, sid: str, *, lasts: int | None, secure: bool) -> bytes:
        """The ``Set-Cookie`` value that gives a browser the session *sid* for *lasts* seconds, or until it closes."""
        signed = self._written.get(sid)
        if signed is None:
            signed = self._written[sid] = self._signer.sign(sid).decode("ascii")
            if len(self._written) > KEPT:
                self._written.popitem(last=False)
        value = f"session={signed}; Path={self._path}; HttpOnly; SameSite=Lax"
        if lasts is not None:
            value += f"; Max-Age={lasts}"
        if secure:
            value += "; Secure"
        return value.encode("ascii")

    def cleared(self) -> bytes:
        """The ``Set-Cookie`` value that takes the session away."""
        return f"session=; Path={self._path}; HttpOnly; SameSite=Lax; Max-Age=0".encode("ascii")


def new_sid() -> str:
    """A session id that nobody can guess."""
    return secrets.token_urlsafe(32)
