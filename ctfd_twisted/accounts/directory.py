"""Who is behind a session or an access token, out of memory where it is warm."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Collection, Hashable
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Any, Final, Generic, NamedTuple, TypeVar

import msgspec
from sqlalchemy import Connection
from twisted.logger import Logger

from ctfd_twisted.accounts import sessions, tokens
from ctfd_twisted.accounts.hasher import Hasher
from ctfd_twisted.accounts.identity import CALLERS, Player, caller_topic
from ctfd_twisted.accounts.keys import Keys, may_be_signed_in, sid_hash, token_id_of
from ctfd_twisted.accounts.newcomers import NEWCOMERS
from ctfd_twisted.accounts.preset import ensure_preset_admin, load_preset_admin
from ctfd_twisted.accounts.throttle import Throttle
from ctfd_twisted.db.behind import WriteBehind
from ctfd_twisted.db.database import Database
from ctfd_twisted.db.snapshot import KeyedSnapshots, NamedIn
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


class _NoPresetAdmin(Exception):
    """The preset token was shown, and its administrator has still to be made."""


class _Question(NamedTuple, Generic[T]):
    """Where to look up what somebody has shown, and who they are by what is found there.

    There is one look to each, so that somebody whom memory does not know waits for one transaction.
    """

    memory: KeyedSnapshots[Any, _Found[Any]]
    key: Hashable
    judge: Callable[[str, Any, datetime], T]


class Directory:
    """Sessions and access tokens to players: what the pipeline calls ``Callers``.

    The ``ready_`` methods answer at once or say that memory does not know (``MISS``); the others look into the database
    and remember. What is remembered is dropped by the topics of the commits that change it, so a ban, a revoked token
    or a changed password counts from the next request on.
    """

    _log = Logger()

    def __init__(
        self, db: Database, behind: WriteBehind, keys: Keys, hasher: Hasher, preset: PresetAdmin | None = None
    ) -> None:
        self._db = db
        self._keys = keys
        self._hasher = hasher
        self._preset = preset
        self._preset_digest = tokens.digest_of(preset.token) if preset is not None and preset.token else None

        def remember(
            load: Callable[[Connection, Any, Keys], Any], whose: Callable[[Any], Player], *topics: str, **options: Any
        ) -> Any:
            def named_in(found: _Found[Any]) -> tuple[str, ...]:
                return () if found.value is None else (caller_topic(whose(found.value).id),)

            return KeyedSnapshots(
                db,
                db.bus,
                lambda conn, key: _Found(load(conn, key, keys)),
                ("accounts", *topics),
                named_in=NamedIn(CALLERS, named_in),
                **options,
            )

        players = attrgetter("player")
        self._sessions = remember(
            sessions.find_session, players, "sessions", topics_of=lambda key: (sessions.topic_of(key),)
        )
        self._tokens = remember(tokens.find_by_value, players, "tokens")
        self._tokens_by_id = remember(tokens.find_by_id, players, "tokens")
        self._preset_admins = remember(load_preset_admin, lambda player: player, NEWCOMERS)
        self._used: Throttle[int] = Throttle(TOKEN_USE_EVERY)
        self._uses = behind.notes(tokens.record_uses)
        self._seen: Throttle[str] = Throttle(SESSION_SEEN_EVERY)
        self._sightings = behind.notes(sessions.record_seen)

    def ready_session(self, sid: str, now: datetime) -> Player | NotInMemory | StaleSession | None:
        """Return the player signed in by the session *sid*; ``None`` where it is nobody's, or has ended.

        ``STALE`` where the player's password has changed since the session began; ``MISS`` where memory does not know.
        """
        question = self._who_signed_in(sid)
        if question is None:
            return None
        found = question.memory.ready(question.key)
        return MISS if found is None else question.judge(sid, found.value, now)

    async def session(self, sid: str, now: datetime) -> Player | StaleSession | None:
        """Return the same as ``ready_session``, from the database."""
        question = self._who_signed_in(sid)
        if question is None:
            return None
        found = await question.memory.get(question.key)
        return question.judge(sid, found.value, now)

    async def players(self, sids: Collection[str], now: datetime) -> dict[str, Player]:
        """Return the players behind many sessions, those left out that are nobody's or have ended; all as of now."""
        hashes = {sid: sid_hash(sid) for sid in sids if may_be_signed_in(sid)}
        found = await self._db.read(sessions.find_sessions, hashes.values(), self._keys) if hashes else {}
        players: dict[str, Player] = {}
        for sid in sids:
            if sid not in hashes:
                player = await self.session(sid, now)
                if isinstance(player, Player):
                    players[sid] = player
                continue
            session = found.get(hashes[sid])
            mac = "" if session is None or now >= session.expires else session.password_mac
            if session is not None and mac and hmac.compare_digest(session.player.session_hash, mac):
                players[sid] = session.player
        return players

    def ready_token(self, value: str, now: datetime) -> TokenCaller | NotInMemory:
        """Return the owner of the access token *value*, or ``MISS`` where memory does not know.

        Raises ``Unauthorized`` with CTFd's text for a token that is unknown or has expired.
        """
        question = self._whose(value)
        found = question.memory.ready(question.key)
        try:
            return MISS if found is None else question.judge(value, found.value, now)
        except _NoPresetAdmin:
            return MISS

    async def token(self, value: str, now: datetime) -> TokenCaller:
        """Return the same as ``ready_token``, from the database; the preset administrator is made here."""
        question = self._whose(value)
        found = await question.memory.get(question.key)
        try:
            return question.judge(value, found.value, now)
        except _NoPresetAdmin:
            await self._make_preset_admin(now)
        found = await question.memory.get(question.key)
        return question.judge(value, found.value, now)

    def _who_signed_in(self, sid: str) -> _Question[Player | StaleSession | None] | None:
        token_id = token_id_of(sid)
        if token_id is None:
            return _Question(self._sessions, sid_hash(sid), self._by_session) if may_be_signed_in(sid) else None
        if token_id != _PRESET:
            return _Question(self._tokens_by_id, token_id, self._by_session_of_token)
        if self._preset_digest is None:
            return None
        return _Question(self._preset_admins, self._preset, self._by_preset_session)

    def _by_session(self, sid: str, session: sessions.Session | None, now: datetime) -> Player | StaleSession | None:
        if session is None or now >= session.expires:
            return None
        if not hmac.compare_digest(session.player.session_hash, session.password_mac):
            return STALE
        hashed = sid_hash(sid)
        if self._seen.due(hashed, now):
            self._sightings.add(hashed, now)
        return session.player

    def _by_session_of_token(self, sid: str, owner: tokens.TokenOwner | None, now: datetime) -> Player | None:
        if owner is None or owner.expired(now):
            return None
        return owner.player if self._is_token_sid(sid, owner.token_id, owner.digest) else None

    def _by_preset_session(self, sid: str, admin: Player | None, _now: datetime) -> Player | None:
        return admin if self._is_token_sid(sid, _PRESET, self._preset_digest or "") else None

    def _is_token_sid(self, sid: str, token_id: int, digest: str) -> bool:
        return hmac.compare_digest(self._keys.token_sid(token_id, digest), sid)

    def _whose(self, value: str) -> _Question[TokenCaller]:
        if self._preset_digest is not None and hmac.compare_digest(tokens.digest_of(value), self._preset_digest):
            return _Question(self._preset_admins, self._preset, self._by_preset_token)
        return _Question(self._tokens, value, self._by_token)

    def _by_token(self, value: str, owner: tokens.TokenOwner | None, now: datetime) -> TokenCaller:
        if owner is None:
            raise Unauthorized(INVALID)
        if owner.expired(now):
            raise Unauthorized(EXPIRED)
        if self._used.due(owner.token_id, now):
            self._uses.add(owner.token_id, now)
        if owner.clear:
            self._keep_hash_only(value)
        return TokenCaller(owner.player, self._keys.token_sid(owner.token_id, owner.digest))

    def _by_preset_token(self, _value: str, admin: Player | None, _now: datetime) -> TokenCaller:
        if admin is None:
            raise _NoPresetAdmin
        return TokenCaller(admin, self._keys.token_sid(_PRESET, self._preset_digest or ""))

    async def _make_preset_admin(self, now: datetime) -> None:
        assert self._preset is not None  # noqa: S101 - whose token was shown
        password_hash = await self._hasher.make(self._preset.password)
        try:
            await self._db.run(ensure_preset_admin, now, self._preset, password_hash)
        except Invalid as refused:
            self._log.warn("the preset administrator can't be made: {reason}", reason=refused.errors)
            raise Unauthorized(INVALID) from None

    def _keep_hash_only(self, value: str) -> None:
        """Nobody waits for it, and it happens at another use where it fails."""
        try:
            writing = self._db.run(tokens.keep_hash_only, value)
        except Busy:
            return
        writing.addErrback(lambda failure: self._log.failure("a token could not be hashed", failure))
