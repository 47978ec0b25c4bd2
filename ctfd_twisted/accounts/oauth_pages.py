"""``/oauth`` and ``/redirect``: the way to MajorLeagueCyber and back (accounts-and-sessions.md section 7)."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlencode

from twisted.logger import Logger

from ctfd_twisted.accounts.keys import Keys
from ctfd_twisted.accounts.oauth_client import OAuthClient
from ctfd_twisted.accounts.oauth_rules import Provider, Turned, make_state, provider_of, read_state, way_there
from ctfd_twisted.accounts.oauth_store import Arrival, arrive
from ctfd_twisted.accounts.redirects import safe_next
from ctfd_twisted.accounts.rendering import entrance_of
from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.db.database import Database
from ctfd_twisted.http.answers import Answer, redirect
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.gates import ANYONE
from ctfd_twisted.http.routes import BY_SESSION, Routes
from ctfd_twisted.settings import OAuthServer

#: Ten a minute; many who share an address are told apart by their sessions.
_LIMIT: Final = (10, 60, BY_SESSION)


class OAuthPages:
    """Signing in with MajorLeagueCyber. Who can't be is led to the login page, which says why."""

    routes = Routes()
    log = Logger("logins")
    _registrations = Logger("registrations")

    def __init__(self, db: Database, keys: Keys, client: OAuthClient, server: OAuthServer) -> None:
        self._db = db
        self._keys = keys
        self._client = client
        self._server = server

    @routes.get("/oauth", ANYONE, limit=_LIMIT)
    def leave(self, call: Call) -> Answer:
        """Send the browser to the provider, which sends it back to ``/redirect``."""
        onto = safe_next(call.argument("next"), call.origin)
        try:
            provider = self._provider(call.competition)
        except Turned as turned:
            return _to_login(call, turned, onto)
        return redirect(way_there(provider, make_state(call.nonce, onto), teams=call.competition.teams))

    @routes.get("/redirect", ANYONE, limit=_LIMIT)
    async def come_back(self, call: Call) -> Answer:
        """Learn from the provider who this is, and sign them in under a new session id."""
        onto = None
        try:
            onto = safe_next(read_state(call.argument("state") or "", call.nonce), call.origin)
            sid, arrival = await self._arrival(call)
        except Turned as turned:
            self.log.info("{address} - MajorLeagueCyber: refused ({why})", address=call.address, why=turned.reason)
            return _to_login(call, turned, onto)
        call.start_session(sid)
        self._note(call, arrival)
        return redirect(onto or call.url("/challenges"))

    async def _arrival(self, call: Call) -> tuple[str, Arrival]:
        """Return the new session's id and whose it is; raises ``Turned``."""
        code = call.argument("code")
        if not code:
            raise Turned("code")
        profile = await self._client.profile(self._provider(call.competition), code)
        entrance = entrance_of(call, self._keys, None)
        signed_in = None if call.player is None else call.player.id
        arrival = await self._db.run(arrive, call.now, self._keys, call.competition, profile, entrance, signed_in)
        return entrance.sid, arrival

    def _provider(self, competition: Competition) -> Provider:
        provider = provider_of(competition, self._server)
        if provider is None:
            raise Turned("settings")
        return provider

    def _note(self, call: Call, arrival: Arrival) -> None:
        who = {"address": call.address, "name": arrival.name}
        if arrival.new:
            self._registrations.info("{address} - {name!r} registered with MajorLeagueCyber", **who)
        if arrival.linked:
            self.log.info("{address} - {name!r} is linked to MajorLeagueCyber from now on", **who)
        self.log.info("{address} - {name!r} signed in with MajorLeagueCyber", **who)


def _to_login(call: Call, turned: Turned, onto: str | None) -> Answer:
    kept = {"next": onto} if onto else {}
    return redirect(f"{call.url('/login')}?{urlencode({'oauth': turned.reason, **kept})}")
