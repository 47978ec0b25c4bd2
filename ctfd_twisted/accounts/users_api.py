"""``/api/v1/users``: everybody's list and profiles, and administrators' changes."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from ctfd_twisted.accounts import users
from ctfd_twisted.accounts.boards import Boards
from ctfd_twisted.accounts.bodies import UserBody
from ctfd_twisted.accounts.deletion import delete_user
from ctfd_twisted.accounts.history import Asker, list_user_awards, list_user_deeds
from ctfd_twisted.accounts.profiles import PAGE_SIZE, AccountFilter, list_users
from ctfd_twisted.accounts.reading import Passwords, read_sent
from ctfd_twisted.accounts.scores import user_profile
from ctfd_twisted.accounts.views import View, award_view, deed_view, user_view
from ctfd_twisted.db.database import Database
from ctfd_twisted.errors import Invalid
from ctfd_twisted.http.answers import Answer, done, ok
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.gates import ACCOUNTS_VISIBLE, ADMIN, SCORES_VISIBLE
from ctfd_twisted.http.pagination import asked_page
from ctfd_twisted.http.routes import Routes
from ctfd_twisted.mail.post import Post
from ctfd_twisted.mail.store import SealedLetter


class AccountQuery(msgspec.Struct, frozen=True):
    """The query of a list of accounts."""

    affiliation: str | UnsetType = UNSET
    country: str | UnsetType = UNSET
    bracket: str | UnsetType = UNSET
    q: str | UnsetType = UNSET
    field: Literal["name", "website", "country", "bracket", "affiliation", "email"] | UnsetType = UNSET


def asked_accounts(call: Call) -> AccountFilter:
    """Return what a list of accounts is asked for; raises ``Invalid``, also where players search e-mails."""
    query = call.query(AccountQuery)
    if query.field == "email" and not call.is_admin:
        raise Invalid(field="Emails can only be queried by admins")
    given = {key: value for key, value in msgspec.structs.asdict(query).items() if value is not UNSET}
    return AccountFilter(**given, everyone=call.is_admin and call.argument("view") == "admin")


class UsersApi:
    """Users as everybody and administrators deal with them; one's own account is in ``me_api``."""

    routes = Routes()

    def __init__(self, db: Database, passwords: Passwords, boards: Boards, post: Post) -> None:
        self._db = db
        self._post = post
        self._passwords = passwords
        self._boards = boards

    @routes.get("/api/v1/users", ACCOUNTS_VISIBLE)
    async def list_users(self, call: Call) -> Answer:
        """One page of users, in the view of everybody whoever asks."""
        wanted = asked_accounts(call)
        page = asked_page(call.argument("page"), size=PAGE_SIZE)
        found = await self._db.read(list_users, wanted, page.number)
        return ok([user_view(user, "user") for user in found.items], meta=page.meta(found.total))

    @routes.post("/api/v1/users", ADMIN)
    async def create_user(self, call: Call) -> Answer:
        """Create a user; with ``?notify=`` they are told their name and password by mail."""
        sent = read_sent(call, UserBody)
        password = await self._passwords.of_admin(sent.body)
        letter = self._credentials(call, sent.body) if call.argument("notify") else None
        return ok(user_view(await self._db.run(users.create_user, call.now, sent, password, letter), "admin"))

    @routes.get("/api/v1/users/<int:user_id>", ACCOUNTS_VISIBLE)
    async def show_user(self, call: Call, user_id: int) -> Answer:
        """One user with the place and score of their account."""
        user, score = await self._db.read(user_profile, call.competition, user_id, everyone=call.is_admin)
        account_id = user.team_id if call.competition.teams else user.id
        place = await self._boards.account_place(account_id) if call.sees_scores else None
        shown = user_view(user, "admin" if call.is_admin else "user")
        return ok({**shown, "place": place, "score": score if call.sees_scores else None})

    @routes.patch("/api/v1/users/<int:user_id>", ADMIN)
    async def edit_user(self, call: Call, user_id: int) -> Answer:
        """Change a user."""
        sent = read_sent(call, UserBody)
        password = await self._passwords.of_admin(sent.body)
        admin = call.require_player()
        return ok(user_view(await self._db.run(users.edit_user, admin.id, user_id, sent, password), "admin"))

    @routes.delete("/api/v1/users/<int:user_id>", ADMIN)
    async def delete_user(self, call: Call, user_id: int) -> Answer:
        """Delete a user with all that is theirs."""
        await self._db.run(delete_user, call.require_player().id, user_id)
        return done()

    @routes.get("/api/v1/users/<int:user_id>/solves", ACCOUNTS_VISIBLE, SCORES_VISIBLE)
    async def list_solves(self, call: Call, user_id: int) -> Answer:
        """What the user solved."""
        return await self._deeds(call, user_id, "correct")

    @routes.get("/api/v1/users/<int:user_id>/fails", ACCOUNTS_VISIBLE, SCORES_VISIBLE)
    async def list_fails(self, call: Call, user_id: int) -> Answer:
        """What the user got wrong; others than administrators are told how often."""
        return await self._deeds(call, user_id, "incorrect")

    @routes.get("/api/v1/users/<int:user_id>/awards", ACCOUNTS_VISIBLE, SCORES_VISIBLE)
    async def list_awards(self, call: Call, user_id: int) -> Answer:
        """What the user was awarded."""
        found = await self._db.read(list_user_awards, call.competition, Asker(call.player, call.now), user_id)
        shown = [award_view(award, requirements=call.is_admin, type=False) for award in found]
        return ok(shown, meta={"count": len(found)})

    def _credentials(self, call: Call, body: UserBody) -> SealedLetter | None:
        if not (body.name and body.email and body.password):
            return None
        account = {"name": body.name, "password": body.password}
        return self._post.write(call.competition, "user_creation", body.email, call.absolute_url("/"), account)

    async def _deeds(self, call: Call, user_id: int, type: str) -> Answer:
        asker = Asker(call.player, call.now)
        return deeds_answer(call, await self._db.read(list_user_deeds, call.competition, asker, user_id, type), type)


def deeds_answer(call: Call, found: tuple[Any, ...], type: str) -> Answer:
    """Return a list of solves or fails with its count; fails are shown to administrators alone."""
    view: View = "admin" if call.is_admin else "user"
    told = call.is_admin or type == "correct"
    return ok([deed_view(deed, view) for deed in found] if told else [], meta={"count": len(found)})
