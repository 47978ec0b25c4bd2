"""What the account handlers share: bodies whose faults are judged later, and passwords that are hashed before."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeVar

from msgspec import UNSET

from ctfd_twisted.accounts.bodies import AccountBody, NewPassword, OwnTeamBody, OwnUserBody, Sent
from ctfd_twisted.accounts.hasher import Hasher
from ctfd_twisted.accounts.keys import Keys
from ctfd_twisted.errors import Invalid
from ctfd_twisted.http.bodies import read_struct
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.described import missing

B = TypeVar("B", bound=AccountBody)

#: What bodies with answers to custom fields can bring.
NO_FIELD: Final = missing("There is no such custom field.")


def read_sent(call: Call, kind: type[B]) -> Sent[B]:
    """Return the body as a *kind*, with the faults of the keys that are none; every key of *kind* is optional."""
    call.expect(kind)
    raw = call.body_object()
    try:
        return Sent(read_struct(raw, kind))
    except Invalid as wrong:
        readable = {key: value for key, value in raw.items() if key not in wrong.errors}
        return Sent(read_struct(readable, kind), wrong.errors)


class Passwords:
    """Does with the passwords of a body what takes long, so that the transaction finds it done."""

    def __init__(self, hasher: Hasher, keys: Keys) -> None:
        self._hasher = hasher
        self._keys = keys

    @property
    def keys(self) -> Keys:
        """The keys by which sessions know their passwords."""
        return self._keys

    async def of_admin(self, body: AccountBody) -> NewPassword:
        """Hash the new password that an administrator set; an empty one counts."""
        return await self._new(body) if body.password is not UNSET else NewPassword()

    async def of_own(self, body: OwnUserBody | OwnTeamBody, stored: Iterable[str | None]) -> NewPassword:
        """Hash a new password, and find which of the *stored* hashes the confirmation belongs to.

        An empty password is none, whoever sends it: a form that was left as it was must not open the account.
        """
        fits = None
        for candidate in stored if body.confirm else ():
            if fits is None and await self._hasher.verify(str(body.confirm), candidate):
                fits = candidate
        if not body.password:
            return NewPassword(fits=fits)
        new = await self._new(body)
        return NewPassword(new.hashed, new.mac, fits)

    async def _new(self, body: AccountBody) -> NewPassword:
        hashed = await self._hasher.make(str(body.password))
        return NewPassword(hashed, self._keys.password_mac(hashed))
