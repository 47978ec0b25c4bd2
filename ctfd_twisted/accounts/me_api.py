"""``/api/v1/users/me``: one's own account, what one did, and where one is signed in."""

from __future__ import annotations

from typing import Final, TypedDict

import msgspec
from msgspec import UNSET, UnsetType

from ctfd_twisted.accounts import sessions, users
from ctfd_twisted.accounts.awards import list_user_awards
from ctfd_twisted.accounts.boards import Boards
from ctfd_twisted.accounts.bodies import OwnUserBody
from ctfd_twisted.accounts.history import Asker, DeedType, list_submissions, list_user_deeds
from ctfd_twisted.accounts.history_views import DeedShown, OwnDeed, UserAward, own_deed, user_awards
from ctfd_twisted.accounts.keys import sid_hash
from ctfd_twisted.accounts.reading import NO_FIELD, Passwords, read_sent
from ctfd_twisted.accounts.scores import own_profile
from ctfd_twisted.accounts.users_api import deeds_answer
from ctfd_twisted.accounts.views import OwnProfile, OwnUser, own_user
from ctfd_twisted.db.database import Database
from ctfd_twisted.errors import Forbidden, NotFound
from ctfd_twisted.http.answers import Answer, done, ok
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.dates import iso
from ctfd_twisted.http.gates import ADMIN, AUTHED
from ctfd_twisted.http.pagination import Counted
from ctfd_twisted.http.routes import Routes

_ME: Final = "/api/v1/users/me"
_OF_A_USER: Final = "/api/v1/users/<int:user_id>/sessions"


class ChallengeQuery(msgspec.Struct, frozen=True):
    """Of which challenge one's submissions are asked for."""

    challenge_id: int | UnsetType = UNSET


class SessionShown(TypedDict):
    """Where somebody is signed in; ``id`` names the session and opens nothing, ``current`` is the one that asks."""

    id: str
    created: str | None
    expires: str | None
    seen: str | None
    address: str
    user_agent: str
    current: bool


class MeApi:
    """What players may do with their own accounts."""

    routes = Routes()

    def __init__(self, db: Database, passwords: Passwords, boards: Boards) -> None:
        self._db = db
        self._passwords = passwords
        self._boards = boards

    @routes.get(_ME, AUTHED, data=OwnProfile)
    async def show_me(self, call: Call) -> Answer:
        """One's own account, with the score as it is now and the place among users."""
        me, score = await self._db.read(own_profile, call.competition, call.require_player().id)
        place = await self._boards.person_place(me.id) if call.sees_scores else None
        shown: OwnProfile = {**own_user(me), "place": place, "score": score}
        return ok(shown)

    @routes.patch(_ME, AUTHED, body=OwnUserBody, data=OwnUser, also=(NO_FIELD,))
    async def edit_me(self, call: Call) -> Answer:
        """Change one's own account; a new password ends every session but the one that asks."""
        player = call.require_player()
        sent = read_sent(call, OwnUserBody)
        # Administrators are asked for no confirmation.
        stored = () if player.is_admin else (await self._db.read(users.stored_password, player.id),)
        password = await self._passwords.of_own(sent.body, stored)
        me = await self._db.run(users.edit_own_user, call.now, call.competition, player.id, sent, password, call.sid)
        if call.sid is not None:
            call.start_session(call.sid)
        return ok(own_user(me))

    @routes.get(f"{_ME}/submissions", AUTHED, query=ChallengeQuery, data=list[OwnDeed], meta=Counted)
    async def list_my_submissions(self, call: Call) -> Answer:
        """What the account submitted to one challenge, the newest first; nothing where none is named."""
        if not call.competition.truthy("view_self_submissions"):
            raise Forbidden
        challenge_id = call.query(ChallengeQuery).challenge_id
        if challenge_id is UNSET:
            return ok([], meta={"count": 0})
        player = call.require_player()
        account_id = player.account_id(call.competition)
        asker = Asker(player, call.now, own=True)
        found = await self._db.read(list_submissions, call.competition, asker, account_id, challenge_id)
        return ok([own_deed(deed) for deed in found], meta={"count": len(found)})

    @routes.get(f"{_ME}/solves", AUTHED, data=list[DeedShown], meta=Counted)
    async def list_my_solves(self, call: Call) -> Answer:
        """What one solved, the newest first."""
        return await self._deeds(call, "correct")

    @routes.get(f"{_ME}/fails", AUTHED, data=list[DeedShown], meta=Counted)
    async def list_my_fails(self, call: Call) -> Answer:
        """What one got wrong, the newest first; others than administrators are told only how often."""
        return await self._deeds(call, "incorrect")

    @routes.get(f"{_ME}/awards", AUTHED, data=list[UserAward], meta=Counted)
    async def list_my_awards(self, call: Call) -> Answer:
        """What one was awarded, the newest first."""
        player = call.require_player()
        asker = Asker(player, call.now, own=True)
        found = await self._db.read(list_user_awards, call.competition, asker, player.id)
        return ok(user_awards(found, to_admin=call.is_admin), meta={"count": len(found)})

    async def _deeds(self, call: Call, type: DeedType) -> Answer:
        player = call.require_player()
        asker = Asker(player, call.now, own=True)
        return deeds_answer(call, await self._db.read(list_user_deeds, call.competition, asker, player.id, type), type)

    # Where one is signed in: beyond what CTFd has.

    @routes.get(f"{_ME}/sessions", AUTHED, data=list[SessionShown])
    async def list_my_sessions(self, call: Call) -> Answer:
        """The sessions by which one is signed in somewhere."""
        return await self._sessions(call, call.require_player().id)

    @routes.delete(f"{_ME}/sessions", AUTHED, data=None)
    async def end_my_other_sessions(self, call: Call) -> Answer:
        """End every session but the one that asks."""
        await self._db.run(sessions.end_sessions, call.require_player().id, but=call.sid)
        return done()

    @routes.delete(f"{_ME}/sessions/<name>", AUTHED, data=None)
    async def end_my_session(self, call: Call, name: str) -> Answer:
        """End one session."""
        if not await self._db.run(sessions.end_sessions, call.require_player().id, name=name):
            raise NotFound
        return done()

    @routes.get(_OF_A_USER, ADMIN, data=list[SessionShown])
    async def list_sessions(self, call: Call, user_id: int) -> Answer:
        """The sessions of a user."""
        return await self._sessions(call, user_id)

    @routes.delete(_OF_A_USER, ADMIN, data=None)
    async def end_user_sessions(self, call: Call, user_id: int) -> Answer:  # noqa: ARG002 - every handler gets the call
        """End all sessions of a user."""
        await self._db.run(sessions.end_sessions, user_id)
        return done()

    async def _sessions(self, call: Call, user_id: int) -> Answer:
        found = await self._db.read(sessions.list_sessions, call.now, user_id, self._passwords.keys)
        present = None if call.sid is None else sessions.name_of(sid_hash(call.sid))
        return ok([_session(session, current=session.id == present) for session in found])


def _session(session: sessions.OpenSession, *, current: bool) -> SessionShown:
    return {
        "id": session.id,
        "created": iso(session.created),
        "expires": iso(session.expires),
        "seen": iso(session.seen),
        "address": session.address,
        "user_agent": session.user_agent,
        "current": current,
    }
