"""``/login`` and ``/logout``."""

from __future__ import annotations

import hmac
from typing import Final, NamedTuple

from twisted.logger import Logger

from ctfd_twisted.accounts.hasher import Hasher
from ctfd_twisted.accounts.keys import Keys
from ctfd_twisted.accounts.oauth_rules import sentences
from ctfd_twisted.accounts.preset import ensure_preset_admin
from ctfd_twisted.accounts.rendering import Renderer, entrance_of, onward, required_text
from ctfd_twisted.accounts.sessions import close_session, open_session
from ctfd_twisted.accounts.signin import Credentials, find_credentials
from ctfd_twisted.accounts.users import stored_password
from ctfd_twisted.db.database import Database
from ctfd_twisted.errors import Invalid
from ctfd_twisted.http.answers import Answer, redirect
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.gates import ANYONE
from ctfd_twisted.http.routes import Routes
from ctfd_twisted.settings import PresetAdmin

INCORRECT: Final = "Your username or password is incorrect"
FROM_ELSEWHERE: Final = (
    "Your account was registered with a 3rd party authentication provider. "
    "Please try logging in with a configured authentication provider."
)


class SignedIn(NamedTuple):
    """Who has shown their password, and its stored hash."""

    user_id: int
    name: str
    stored: str | None


class SignInPages:
    """Signing in by name and password, and out."""

    routes = Routes()
    log = Logger("logins")

    def __init__(
        self, db: Database, pages: Renderer, hasher: Hasher, keys: Keys, preset: PresetAdmin | None = None
    ) -> None:
        self._db = db
        self._pages = pages
        self._hasher = hasher
        self._keys = keys
        self._preset = preset

    @routes.get("/login", ANYONE)
    def login_form(self, call: Call) -> Answer:
        """The form, also for who is signed in; it says why MajorLeagueCyber's way in was closed."""
        errors = sentences(call.argument("oauth"), call.competition)
        return self._pages.around(call, "login.html", (call.argument("next"), *errors), errors=errors)

    @routes.post("/login", ANYONE, limit=(10, 5, "name"))
    async def login(self, call: Call) -> Answer:
        """Sign in, under a new session id."""
        name, password = required_text(call, "name"), required_text(call, "password")
        try:
            found = await self._preset_admin(call, name, password) or await self._verified(name, password)
        except Invalid as refused:
            self.log.info("{address} - failed sign-in as {name!r}", address=call.address, name=name)
            return self._pages.render(call, "login.html", name=name, errors=refused.errors[""])
        entrance = entrance_of(call, self._keys, found.stored)
        await self._db.run(open_session, call.now, found.user_id, entrance)
        call.start_session(entrance.sid)
        self.log.info("{address} - {name!r} signed in", address=call.address, name=found.name)
        return onward(call, "/challenges")

    @routes.get("/logout", ANYONE)
    async def logout(self, call: Call) -> Answer:
        """Sign out; visitors are welcome too."""
        if call.player is not None and call.sid is not None:
            await self._db.run(close_session, call.sid)
        call.end_session()
        return redirect(call.url("/"))

    async def _preset_admin(self, call: Call, name: str, password: str) -> SignedIn | None:
        """Return the preset administrator if it is they, made where missing; raises ``Invalid`` if that fails."""
        preset = self._preset
        if preset is None or name.strip() not in {preset.name, preset.email}:
            return None
        if not hmac.compare_digest(password.encode(), preset.password.encode()):
            return None
        hashed = await self._hasher.make(password)
        user_id = await self._db.run(ensure_preset_admin, call.now, preset, hashed)
        return SignedIn(user_id, preset.name, await self._db.read(stored_password, user_id))

    async def _verified(self, name: str, password: str) -> SignedIn:
        """Return whose name and password these are; raises ``Invalid`` after the same time for whoever they are not."""
        found: Credentials = await self._db.read(find_credentials, name)
        if found.user_id is None or found.stored is None:
            await self._hasher.verify_as_long(password, found.like)
            raise Invalid({"": [INCORRECT if found.user_id is None else FROM_ELSEWHERE]})
        if not await self._hasher.verify(password, found.stored):
            raise Invalid({"": [INCORRECT]})
        return SignedIn(found.user_id, found.name, found.stored)
