"""``/setup/integrations``: MajorLeagueCyber hands over the id and the secret by which it knows this platform."""

from __future__ import annotations

import hmac
from datetime import datetime
from typing import Final

from itsdangerous import BadSignature

from ctfd_twisted.accounts.keys import Keys
from ctfd_twisted.accounts.rendering import Renderer
from ctfd_twisted.competition.store import write_config
from ctfd_twisted.db.database import Database
from ctfd_twisted.errors import Forbidden, NotFound
from ctfd_twisted.http.answers import Answer
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.gates import ANYONE
from ctfd_twisted.http.routes import Routes

#: How long the page of the setup can be used for it, in seconds.
SECONDS: Final = 3600


def make_integration_state(keys: Keys, now: datetime, nonce: str) -> str:
    """Return the text that the provider gives back; it counts in the session with this *nonce* alone."""
    return keys.sign(now, nonce)


class IntegrationsPage:
    """What the provider opens in the window in which its owner chose this platform, while it is set up or later."""

    routes = Routes()

    def __init__(self, db: Database, pages: Renderer, keys: Keys) -> None:
        self._db = db
        self._pages = pages
        self._keys = keys

    @routes.get("/setup/integrations", ANYONE, before_setup=True)
    async def handed_over(self, call: Call) -> Answer:
        """Store what the query holds."""
        return await self._store(call, call.arguments)

    @routes.post("/setup/integrations", ANYONE, before_setup=True)
    async def sent(self, call: Call) -> Answer:
        """Store what the form holds."""
        return await self._store(call, {**call.arguments, **call.form_values()})

    async def _store(self, call: Call, given: dict[str, str]) -> Answer:
        if call.competition.is_set_up and not call.is_admin:
            raise Forbidden
        if not self._is_ours(call, given.get("state", "")):
            raise Forbidden
        if given.get("name") != "mlc":
            raise NotFound
        keys = ("client_id", "client_secret")
        await self._db.run(write_config, {f"oauth_{key}": given.get(f"mlc_{key}") or None for key in keys})
        return self._pages.render(call, "integrated.html")

    def _is_ours(self, call: Call, state: str) -> bool:
        try:
            nonce = self._keys.read_signed(call.now, state, SECONDS)
        except BadSignature:
            return False
        return isinstance(nonce, str) and hmac.compare_digest(nonce.encode(), call.nonce.encode())
