"""Who is behind a session or an access token, out of memory where it is warm."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Final, Generic, TypeVar

import msgspec
from sqlalchemy import Connection
from twisted.logger import Logger

from ctfd_twisted.accounts import sessions, tokens
from ctfd_twisted.accounts.hasher import Hasher
from ctfd_twisted.accounts.identity import Player
from ctfd_twisted.accounts.keys import Keys, may_be_signed_in, sid_hash, token_id_of
from ctfd_twisted.accounts.players import load_player
from ctfd_twisted.accounts.preset import ensure_preset_admin, find_preset_admin
from ctfd_twisted.accounts.throttle import Throttle
from ctfd_twisted.db.database import Database
from ctfd_twisted.db.notices import Bus
from ctfd_twisted.db.snapshot import KeyedSnapshots
from ctfd_twisted.errors import Busy, Invalid, Unauthorized
from ctfd_twisted.http.callers import MISS, STALE, NotInMemory, StaleSession, TokenCaller
from ctfd_twisted.settings import PresetAdmin

T = TypeVar("T")

INVALID: Final = "Your access token is invalid"
EXPIRED: Final = "Your access token has expired"

#: A token's last use is written at most this often, and a session's: a busy script must not keep the writer busy.
TOKEN_USE_EVERY: Final = timedelta(minutes=1)
SESSION_SEEN_EVERY: Final = timedelta(minutes=10)

# No row of ``tokens`` has this id; the sessions of the preset token are told by it.
_PRESET: Final = 0


class _Found(msgspec.Struct, Generic[T], frozen=True):
    """What a look into the database found; that nothing was there is remembered too."""

    value: T | None


class _NotReady(Exception):
    """Memory does not hold what is asked for."""

    def __init__(self, remembered: KeyedSnapshots[Any, _Found[Any]], key: object) -> None:
        super().__init__()
        self.remembered = remembered
        self.key = key


class _NoPresetAdmin(Exception):
    """The preset token was shown, and its administrator has still to be made."""


#: Looks one thing up: ``look(remembered, key)``. Raises ``_NotReady``.
_Look = Callable[[KeyedSnapshots[Any, _Found[Any]], Any], Any]


class Directory:
    """Sessions and access tokens to players: what the pipeline calls ``Callers``.

    The ``ready_`` methods answer at once or say that memory does not know (``MISS``); the others look into the database
    and remember. What is remembered is dropped by the topics of the commits that change it, so a ban, a revoked token
    or a changed password counts from the next request on.
    """

    _log = Logger()

    def __init__(self, db: Database, bus: Bus, keys: Keys, hasher: Hasher, preset: PresetAdmin | None = None) -> None:
        self._db = db
        self._keys = keys
        self._hasher = hasher
        self._preset = preset
        self._preset_digest = tokens.digest_of(preset.token) if preset is not None and preset.token else None

        def remember(build: Callable[[Connection, Any], Any], *topics: str, **options: Any) -> Any:
            return KeyedSnapshots(db, bus, lambda conn, key: _Found(build(conn, key)), topics, **options)

        self._players = remember(lambda conn, user_id: load_player(conn, user_id, keys), "accounts")
        self._sessions = remember(sessions.find_session, "sessions", topics_of=lambda key: (sessions.topic_of(key),))
        self._tokens = remember(tokens.find_by_value, "tokens")
        self._tokens_by_id = remember(tokens.find_by_id, "tokens")
        self._preset_admins = remember(find_preset_admin, "accounts")
        self._token_uses: Throttle[int] = Throttle(TOKEN_USE_EVERY)
        self._sessions_seen: Throttle[str] = Throttle(SESSION_SEEN_EVERY)

    def ready_session(self, sid: str, now: datetime) -> Player | NotInMemory | StaleSession | None:
        """Return the player signed in by the session *sid*; ``None`` where it is nobody's, or has ended.

        ``STALE`` where the player's password has changed since the session began; ``MISS`` where memory does not know.
        """
        try:
            return self._session(sid, now, _ready)
        except _NotReady:
            return MISS

    async def session(self, sid: str, now: datetime) -> Player | StaleSession | None:
        """Return the same as ``ready_session``, from the database."""
        return await _looking_up(lambda look: self._session(sid, now, look))

    def ready_token(self, value: str, now: datetime) -> TokenCaller | NotInMemory:
        """Return the owner of the access token *value*, or ``MISS`` where memory does not know.

        Raises ``Unauthorized`` with CTFd's text for a token that is unknown or has expired.
        """
        try:
            return self._token(value, now, _ready)
        except (_NotReady, _NoPresetAdmin):
            return MISS

    async def token(self, value: str, now: datetime) -> TokenCaller:
        """Return the same as ``ready_token``, from the database; the preset administrator is made here."""
        try:
            return await _looking_up(lambda look: self._token(value, now, look))
        except _NoPresetAdmin:
            await self._make_preset_admin(now)
        return await _looking_up(lambda look: self._token(value, now, look))

    # What follows is written once for both kinds: *look* is all that differs.

    def _session(self, sid: str, now: datetime, look: _Look) -> Player | StaleSession | None:
        token_id = token_id_of(sid)
        if token_id is not None:
            return self._token_session(token_id, sid, now, look)
        if not may_be_signed_in(sid):
            return None
        hashed = sid_hash(sid)
        session: sessions.Session | None = look(self._sessions, hashed)
        if session is None or now >= session.expires:
            return None
        player: Player | None = look(self._players, session.user_id)
        if player is None:
            return None
        if not hmac.compare_digest(player.session_hash, session.password_mac):
            return STALE
        if self._sessions_seen.due(hashed, now):
            self._later(sessions.record_seen, hashed, now)
        return player

    def _token_session(self, token_id: int, sid: str, now: datetime, look: _Look) -> Player | None:
        if token_id == _PRESET:
            digest, user_id = self._preset_digest, look(self._preset_admins, self._preset) if self._preset else None
        else:
            owner: tokens.TokenOwner | None = look(self._tokens_by_id, token_id)
            if owner is None or owner.expired(now):
                return None
            digest, user_id = owner.digest, owner.user_id
        if digest is None or user_id is None:
            return None
        if not hmac.compare_digest(self._keys.token_sid(token_id, digest), sid):
            return None
        player: Player | None = look(self._players, user_id)
        return player

    def _token(self, value: str, now: datetime, look: _Look) -> TokenCaller:
        if self._preset_digest is not None:
            digest = tokens.digest_of(value)
            if hmac.compare_digest(digest, self._preset_digest):
                admin_id = look(self._preset_admins, self._preset)
                player = None if admin_id is None else look(self._players, admin_id)
                if player is None:
                    raise _NoPresetAdmin
                return TokenCaller(player, self._keys.token_sid(_PRESET, digest))
        owner: tokens.TokenOwner | None = look(self._tokens, value)
        if owner is None:
            raise Unauthorized(INVALID)
        if owner.expired(now):
            raise Unauthorized(EXPIRED)
        player = look(self._players, owner.user_id)
        if player is None:
            raise Unauthorized(INVALID)
        self._note_use(owner, value, now)
        return TokenCaller(player, self._keys.token_sid(owner.token_id, owner.digest))

    def _note_use(self, owner: tokens.TokenOwner, value: str, now: datetime) -> None:
        if self._token_uses.due(owner.token_id, now):
            self._later(tokens.record_use, now, owner.token_id)
        if owner.clear:
            self._later(tokens.keep_hash_only, value)

    async def _make_preset_admin(self, now: datetime) -> None:
        assert self._preset is not None  # noqa: S101 - whose token was shown
        password_hash = await self._hasher.make(self._preset.password)
        try:
            await self._db.run(ensure_preset_admin, now, self._preset, password_hash)
        except Invalid as refused:
            self._log.warn("the preset administrator can't be made: {reason}", reason=refused.errors)
            raise Unauthorized(INVALID) from None

    def _later(self, fn: Callable[..., None], *args: object) -> None:
        """Write something that nobody waits for, and that is written again at another use where it fails."""
        try:
            writing = self._db.run(fn, *args)
        except Busy:
            return
        writing.addErrback(lambda failure: self._log.failure("{name} failed", failure, name=fn.__name__))


def _ready(remembered: KeyedSnapshots[Any, _Found[Any]], key: object) -> Any:
    found = remembered.ready(key)
    if found is None:
        raise _NotReady(remembered, key)
    return found.value


async def _looking_up(resolve: Callable[[_Look], T]) -> T:
    """Call *resolve* until it has all it looks for.

    What was fetched counts for this question even if a commit makes it stale meanwhile: otherwise a rush of
    registrations could keep a request waiting for ever.
    """
    fetched: dict[tuple[int, object], _Found[Any]] = {}

    def look(remembered: KeyedSnapshots[Any, _Found[Any]], key: object) -> Any:
        known = fetched.get((id(remembered), key))
        return _ready(remembered, key) if known is None else known.value

    while True:
        try:
            return resolve(look)
        except _NotReady as missing:
            fetched[id(missing.remembered), missing.key] = await missing.remembered.get(missing.key)
