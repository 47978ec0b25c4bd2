"""``/api/v1/users``: everybody's list and profiles, and administrators' changes."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, NamedTuple

import msgspec
from msgspec import UNSET, Meta, UnsetType
from sqlalchemy import Connection

from ctfd_twisted.accounts import users
from ctfd_twisted.accounts.awards import list_user_awards
from ctfd_twisted.accounts.boards import Boards
from ctfd_twisted.accounts.bodies import NewUserBody, UserBody
from ctfd_twisted.accounts.deletion import delete_user
from ctfd_twisted.accounts.history import Asker, Deed, DeedType, list_user_deeds
from ctfd_twisted.accounts.history_views import DeedShown, UserAward, deed_shown, user_awards
from ctfd_twisted.accounts.newcomers import LIST_TOPICS
from ctfd_twisted.accounts.profiles import PAGE_SIZE, AccountFilter, list_users
from ctfd_twisted.accounts.reading import NO_FIELD, Passwords, read_sent
from ctfd_twisted.accounts.scores import user_profile
from ctfd_twisted.accounts.views import UserForAdmins, UserProfile, UserShown, user_for_admins, user_shown
from ctfd_twisted.accounts.views import user_profile as profile_shown
from ctfd_twisted.db.database import Database
from ctfd_twisted.errors import Invalid
from ctfd_twisted.http.answers import Answer, done, ok
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.described import invalid
from ctfd_twisted.http.gates import ACCOUNTS_VISIBLE, ADMIN, SCORES_VISIBLE
from ctfd_twisted.http.pagination import AskedPage, Counted, Page, Paged, asked_page
from ctfd_twisted.http.routes import Routes
from ctfd_twisted.http.sharing import SAME, SharedAnswers
from ctfd_twisted.mail.post import Post
from ctfd_twisted.mail.store import SealedLetter

_ONE: Final = "/api/v1/users/<int:user_id>"


class AccountQuery(msgspec.Struct, frozen=True):
    """Which accounts are asked for."""

    affiliation: str | UnsetType = UNSET
    country: str | UnsetType = UNSET
    bracket: Annotated[str, Meta(description="The id of a bracket.")] | UnsetType = UNSET
    q: str | UnsetType = UNSET
    field: Literal["name", "website", "country", "bracket", "affiliation", "email"] | UnsetType = UNSET
    view: Annotated[str, Meta(description="`admin`: to administrators also hidden and banned ones.")] | UnsetType = (
        UNSET
    )


class Notify(msgspec.Struct, frozen=True):
    """Whether a new user is told."""

    notify: Annotated[str, Meta(description="Any text: mail them their name and password.")] | UnsetType = UNSET


class Accounts(NamedTuple):
    """Which page of which accounts is asked for; administrators are told more of them."""

    wanted: AccountFilter
    page: Page
    to_admin: bool


def asked_accounts(call: Call) -> Accounts:
    """Return what a list of accounts is asked for; raises ``Invalid``, also where players search e-mails."""
    query = call.query(AccountQuery)
    if query.field == "email" and not call.is_admin:
        raise Invalid(field="Emails can only be queried by admins")
    given = {key: value for key, value in msgspec.structs.asdict(query).items() if value is not UNSET}
    everyone = given.pop("view", None) == "admin" and call.is_admin
    page = asked_page(call.query(AskedPage).page, size=PAGE_SIZE)
    return Accounts(AccountFilter(**given, everyone=everyone), page, call.is_admin)


class UsersApi:
    """Users as everybody and administrators deal with them; one's own account is in ``me_api``."""

    routes = Routes()

    def __init__(self, db: Database, passwords: Passwords, boards: Boards, post: Post) -> None:
        self._db = db
        self._post = post
        self._passwords = passwords
        self._boards = boards
        self._pages = SharedAnswers(db, _listed, LIST_TOPICS)

    @routes.get(
        "/api/v1/users",
        ACCOUNTS_VISIBLE,
        query=(AccountQuery, AskedPage),
        data=list[UserShown],
        meta=Paged,
        also=(SAME,),
    )
    def list_users(self, call: Call) -> Any:
        """One page of users, in the view of everybody whoever asks."""
        return self._pages.to(call, asked_accounts(call))

    @routes.post(
        "/api/v1/users", ADMIN, query=Notify, body=(NewUserBody, UserBody), data=UserForAdmins, also=(NO_FIELD,)
    )
    async def create_user(self, call: Call) -> Answer:
        """Create a user."""
        sent = read_sent(call, UserBody)
        password = await self._passwords.of_admin(sent.body)
        letter = self._credentials(call, sent.body) if call.query(Notify).notify else None
        return ok(user_for_admins(await self._db.run(users.create_user, call.now, sent, password, letter)))

    @routes.get(_ONE, ACCOUNTS_VISIBLE, data=UserProfile)
    async def show_user(self, call: Call, user_id: int) -> Answer:
        """One user with the place and score of their account."""
        user, score = await self._db.read(user_profile, call.competition, user_id, everyone=call.is_admin)
        account_id = user.team_id if call.competition.teams else user.id
        place = await self._boards.account_place(account_id) if call.sees_scores else None
        return ok(profile_shown(user, place, score if call.sees_scores else None, to_admin=call.is_admin))

    @routes.patch(_ONE, ADMIN, body=UserBody, data=UserForAdmins)
    async def edit_user(self, call: Call, user_id: int) -> Answer:
        """Change a user."""
        sent = read_sent(call, UserBody)
        password = await self._passwords.of_admin(sent.body)
        admin = call.require_player()
        return ok(user_for_admins(await self._db.run(users.edit_user, admin.id, user_id, sent, password)))

    @routes.delete(_ONE, ADMIN, data=None, also=(invalid("The user is the one who asks."),))
    async def delete_user(self, call: Call, user_id: int) -> Answer:
        """Delete a user with all that is theirs; one whom nobody knows is as good as deleted."""
        await self._db.run(delete_user, call.require_player().id, user_id)
        return done()

    @routes.get(f"{_ONE}/solves", ACCOUNTS_VISIBLE, SCORES_VISIBLE, data=list[DeedShown], meta=Counted)
    async def list_solves(self, call: Call, user_id: int) -> Answer:
        """What the user solved, the newest first."""
        return await self._deeds(call, user_id, "correct")

    @routes.get(f"{_ONE}/fails", ACCOUNTS_VISIBLE, SCORES_VISIBLE, data=list[DeedShown], meta=Counted)
    async def list_fails(self, call: Call, user_id: int) -> Answer:
        """What the user got wrong, the newest first; others than administrators are told only how often."""
        return await self._deeds(call, user_id, "incorrect")

    @routes.get(f"{_ONE}/awards", ACCOUNTS_VISIBLE, SCORES_VISIBLE, data=list[UserAward], meta=Counted)
    async def list_awards(self, call: Call, user_id: int) -> Answer:
        """What the user was awarded, the newest first."""
        found = await self._db.read(list_user_awards, call.competition, Asker(call.player, call.now), user_id)
        return ok(user_awards(found, to_admin=call.is_admin), meta={"count": len(found)})

    def _credentials(self, call: Call, body: UserBody) -> SealedLetter | None:
        if not (body.name and body.email and body.password):
            return None
        account = {"name": body.name, "password": body.password}
        return self._post.write(call.competition, "user_creation", body.email, call.absolute_url("/"), account)

    async def _deeds(self, call: Call, user_id: int, type: DeedType) -> Answer:
        asker = Asker(call.player, call.now)
        return deeds_answer(call, await self._db.read(list_user_deeds, call.competition, asker, user_id, type), type)


def deeds_answer(call: Call, found: tuple[Deed, ...], type: DeedType) -> Answer:
    """Return a list of solves or fails with its count; fails are shown to administrators alone."""
    told = found if call.is_admin or type == "correct" else ()
    return ok([deed_shown(deed, to_admin=call.is_admin) for deed in told], meta={"count": len(found)})


def _listed(conn: Connection, asked: Accounts) -> bytes:
    found = list_users(conn, asked.wanted, asked.page.number)
    shown = [user_shown(user, to_admin=asked.to_admin) for user in found.items]
    return ok(shown, meta=asked.page.meta(found.total)).body
