"""``/api/v1/users/me``: one's own account, what one did, and where one is signed in."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType

from ctfd_twisted.accounts import sessions, users
from ctfd_twisted.accounts.boards import Boards
from ctfd_twisted.accounts.bodies import OwnUserBody
from ctfd_twisted.accounts.history import Asker, list_submissions, list_user_awards, list_user_deeds
from ctfd_twisted.accounts.keys import sid_hash
from ctfd_twisted.accounts.reading import Passwords, read_sent
from ctfd_twisted.accounts.scores import own_profile
from ctfd_twisted.accounts.users_api import deeds_answer
from ctfd_twisted.accounts.views import award_view, deed_view, user_view
from ctfd_twisted.db.database import Database
from ctfd_twisted.errors import Forbidden, NotFound
from ctfd_twisted.http.answers import Answer, done, ok
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.dates import iso
from ctfd_twisted.http.gates import ADMIN, AUTHED
from ctfd_twisted.http.routes import Routes


class ChallengeQuery(msgspec.Struct, frozen=True):
    """Of which challenge one's submissions are asked for."""

    challenge_id: int | UnsetType = UNSET


class MeApi:
    """What players may do with their own accounts."""

    routes = Routes()

    def __init__(self, db: Database, passwords: Passwords, boards: Boards) -> None:
        self._db = db
        self._passwords = passwords
        self._boards = boards

    @routes.get("/api/v1/users/me", AUTHED)
    async def show_me(self, call: Call) -> Answer:
        """One's own account, with the score as it is now and the place among users."""
        me, score = await self._db.read(own_profile, call.competition, call.require_player().id)
        place = await self._boards.person_place(me.id) if call.sees_scores else None
        return ok({**user_view(me, "self"), "place": place, "score": score})

    @routes.patch("/api/v1/users/me", AUTHED)
    async def edit_me(self, call: Call) -> Answer:
        """Change one's own account; the session goes on, every other one ends where the password changed."""
        player = call.require_player()
        sent = read_sent(call, OwnUserBody)
        if player.is_admin:
            password = await self._passwords.of_admin(sent.body)
        else:
            stored = await self._db.read(users.stored_password, player.id)
            password = await self._passwords.of_player(sent.body, (stored,))
        me = await self._db.run(users.edit_own_user, call.now, call.competition, player.id, sent, password, call.sid)
        if call.sid is not None:
            call.start_session(call.sid)
        return ok(user_view(me, "self"))

    @routes.get("/api/v1/users/me/submissions", AUTHED)
    async def list_my_submissions(self, call: Call) -> Answer:
        """What the account submitted to one challenge."""
        if not call.competition.truthy("view_self_submissions"):
            raise Forbidden
        challenge_id = call.query(ChallengeQuery).challenge_id
        if challenge_id is UNSET:
            return ok([], meta={"count": 0})
        player = call.require_player()
        account_id = player.account_id(call.competition)
        asker = Asker(player, call.now, own=True)
        found = await self._db.read(list_submissions, call.competition, asker, account_id, challenge_id)
        return ok([deed_view(deed, "self") for deed in found], meta={"count": len(found)})

    @routes.get("/api/v1/users/me/solves", AUTHED)
    async def list_my_solves(self, call: Call) -> Answer:
        """What one solved."""
        return await self._deeds(call, "correct")

    @routes.get("/api/v1/users/me/fails", AUTHED)
    async def list_my_fails(self, call: Call) -> Answer:
        """What one got wrong; others than administrators are told how often."""
        return await self._deeds(call, "incorrect")

    @routes.get("/api/v1/users/me/awards", AUTHED)
    async def list_my_awards(self, call: Call) -> Answer:
        """What one was awarded."""
        player = call.require_player()
        asker = Asker(player, call.now, own=True)
        found = await self._db.read(list_user_awards, call.competition, asker, player.id)
        shown = [award_view(award, requirements=call.is_admin, type=False) for award in found]
        return ok(shown, meta={"count": len(found)})

    async def _deeds(self, call: Call, type: str) -> Answer:
        player = call.require_player()
        asker = Asker(player, call.now, own=True)
        return deeds_answer(call, await self._db.read(list_user_deeds, call.competition, asker, player.id, type), type)

    # Where one is signed in: beyond what CTFd has.

    @routes.get("/api/v1/users/me/sessions", AUTHED)
    async def list_my_sessions(self, call: Call) -> Answer:
        """The sessions by which one is signed in somewhere."""
        return await self._sessions(call, call.require_player().id)

    @routes.delete("/api/v1/users/me/sessions", AUTHED)
    async def end_my_other_sessions(self, call: Call) -> Answer:
        """End every session but the one that asks."""
        await self._db.run(sessions.end_sessions, call.require_player().id, but=call.sid)
        return done()

    @routes.delete("/api/v1/users/me/sessions/<name>", AUTHED)
    async def end_my_session(self, call: Call, name: str) -> Answer:
        """End one session."""
        if not await self._db.run(sessions.end_sessions, call.require_player().id, name=name):
            raise NotFound
        return done()

    @routes.get("/api/v1/users/<int:user_id>/sessions", ADMIN)
    async def list_sessions(self, call: Call, user_id: int) -> Answer:
        """The sessions of a user."""
        return await self._sessions(call, user_id)

    @routes.delete("/api/v1/users/<int:user_id>/sessions", ADMIN)
    async def end_user_sessions(self, call: Call, user_id: int) -> Answer:  # noqa: ARG002 - every handler gets the call
        """End all sessions of a user."""
        await self._db.run(sessions.end_sessions, user_id)
        return done()

    async def _sessions(self, call: Call, user_id: int) -> Answer:
        found = await self._db.read(sessions.list_sessions, call.now, user_id)
        present = None if call.sid is None else sessions.name_of(sid_hash(call.sid))
        return ok(
            [
                {
                    "id": session.id,
                    "created": iso(session.created),
                    "expires": iso(session.expires),
                    "seen": iso(session.seen),
                    "address": session.address,
                    "user_agent": session.user_agent,
                    "current": session.id == present,
                }
                for session in found
            ]
        )
