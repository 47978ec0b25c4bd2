"""``/reset_password``: a new password by a link, in a mail or for players who must choose one before anything else."""

from __future__ import annotations

from typing import Any, Final

from twisted.logger import Logger

from ctfd_twisted.accounts.hasher import Hasher
from ctfd_twisted.accounts.identity import Player
from ctfd_twisted.accounts.keys import Keys, token_id_of
from ctfd_twisted.accounts.password_reset import (
    LinkOwner,
    find_owner,
    make_link,
    owe,
    player_by_email,
    store_new_password,
)
from ctfd_twisted.accounts.rendering import Renderer, required_text, text_of
from ctfd_twisted.accounts.rules import short_password
from ctfd_twisted.accounts.sign_in_pages import FROM_ELSEWHERE
from ctfd_twisted.db.database import Database
from ctfd_twisted.errors import TooMany
from ctfd_twisted.http.answers import Answer, redirect
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.gates import ANYONE
from ctfd_twisted.http.limits import RateLimits
from ctfd_twisted.http.routes import Routes
from ctfd_twisted.mail.post import Post

INVALID: Final = "Your reset link is invalid, please generate a new one"
EMPTY: Final = "Please pick a longer password"
NOT_CONFIGURED: Final = "Password resets by email are not configured. Please ask the organisers for a new password."
SENT: Final = "If that account exists you will receive an email, please check your inbox"
TOO_OFTEN: Final = "Too many password reset attempts. Please try again later."
FIRST: Final = "Please choose a new password before you go on."

_PAGE: Final = "/reset_password"
#: Requests for one address in so many seconds, whoever makes them.
_PER_ACCOUNT: Final = (5, 180)
_NOBODY: Final = Player(id=0, name="")


def new_password_first(keys: Keys, call: Call) -> str | None:
    """Return where a player with ``change_password`` is sent; ``None`` where they may go on as they are."""
    path = call.route_path
    if call.player is None or path in {"/logout", _PAGE} or path.startswith(f"{_PAGE}/"):
        return None
    return _link_of(keys, call, call.player)


def _link_of(keys: Keys, call: Call, player: Player) -> str:
    link = make_link(keys, call.now, player, signs_in_first=_came_by_token(call))
    return call.url(f"{_PAGE}/{link}")


def _must_choose(call: Call) -> bool:
    return call.player is not None and call.player.change_password


def _came_by_token(call: Call) -> bool:
    """Whether all that the caller has shown is an access token, now or where their session began.

    Nobody becomes master of an account by a token of it that leaked, so such callers sign in before they choose.
    """
    return call.by_token or (call.sid is not None and token_id_of(call.sid) is not None)


class ResetPages:
    """Choosing a new password by a link."""

    routes = Routes()
    log = Logger("logins")

    def __init__(self, db: Database, pages: Renderer, hasher: Hasher, keys: Keys, post: Post) -> None:
        self._db = db
        self._pages = pages
        self._hasher = hasher
        self._keys = keys
        self._post = post
        self._limits = RateLimits()

    @routes.get("/reset_password", ANYONE)
    def without_link(self, call: Call) -> Answer:
        """The form for one's address."""
        return self._elsewhere(call) or self._page(call, can_send=True)

    @routes.post("/reset_password", ANYONE, limit=(10, 60, "email"))
    async def send_link(self, call: Call) -> Answer:
        """Send a link to an address; the answer is the same whether or not somebody has it."""
        if (elsewhere := self._elsewhere(call)) is not None:
            return elsewhere
        email = required_text(call, "email").strip()
        try:
            self._limits.count(("reset", email.lower()), *_PER_ACCOUNT, call.now.timestamp())
        except TooMany:
            return self._page(call, can_send=True, email=email, errors=[TOO_OFTEN])
        found = await self._db.read(player_by_email, self._keys, email)
        if found is not None and found.oauth_id is not None:
            return self._page(call, can_send=True, infos=[FROM_ELSEWHERE])
        # Everything is done for nobody too, so that the time of the answer tells no more than its text.
        link = make_link(self._keys, call.now, found or _NOBODY, signs_in_first=False)
        letter = self._post.write(call.competition, "password_reset", email, call.absolute_url(f"{_PAGE}/{link}"))
        await self._db.run(owe, call.now, None if found is None else letter)
        return self._page(call, can_send=True, infos=[SENT])

    @routes.get("/reset_password/<link>", ANYONE)
    async def form(self, call: Call, link: str) -> Answer:
        """The form for a new password."""
        owner = await self._owner_or_page(call, link)
        return owner if isinstance(owner, Answer) else self._form(call, owner)

    @routes.post("/reset_password/<link>", ANYONE, limit=(10, 60))
    async def choose(self, call: Call, link: str) -> Answer:
        """Store the new password; whoever is signed in with the old one is so no longer."""
        owner = await self._owner_or_page(call, link)
        if isinstance(owner, Answer):
            return owner
        password = text_of(call, "password")
        minimum = call.competition.integer("password_min_length", 0)
        wrong = short_password(password, minimum) if password else EMPTY
        if wrong is not None:
            return self._form(call, owner, errors=[wrong])
        hashed = await self._hasher.make(password)
        letter = self._post.write(call.competition, "password_change_alert", owner.email, call.absolute_url(_PAGE))
        if not await self._db.run(store_new_password, call.now, self._keys, link, hashed, letter):
            return self._invalid(call)
        if call.player is not None and call.player.id == owner.user_id:
            call.end_session()
        self.log.info("{address} - {name!r} chose a new password", address=call.address, name=owner.name)
        return redirect(call.url("/login"))

    async def _owner_or_page(self, call: Call, link: str) -> LinkOwner | Answer:
        """Return whose link it is, or what is shown to somebody who can't choose a password by it."""
        owner = await self._db.read(find_owner, call.now, self._keys, link)
        if owner is None:
            return self._invalid(call)
        signed_in = call.player is not None and call.player.id == owner.user_id and not _came_by_token(call)
        if owner.signs_in_first and not signed_in:
            if _came_by_token(call):
                call.end_session()  # or the way to the login page would lead back here
            raise call.to_login()
        # Who was made to choose a password may, wherever they come from: nothing else is open to them.
        if owner.oauth_id is not None and not (signed_in and _must_choose(call)):
            return self._page(call, infos=[FROM_ELSEWHERE])
        return owner

    def _elsewhere(self, call: Call) -> Answer | None:
        """Lead who must choose a new password to their link, and tell others whom to ask where no mail is sent."""
        if call.player is not None and call.player.change_password:
            return redirect(_link_of(self._keys, call, call.player))
        return None if self._post.possible(call.competition) else self._page(call, errors=[NOT_CONFIGURED])

    def _invalid(self, call: Call) -> Answer:
        return self._page(call, errors=[INVALID], another=call.url(_PAGE) if _must_choose(call) else None)

    def _form(self, call: Call, owner: LinkOwner, **context: Any) -> Answer:
        infos = [FIRST] if _must_choose(call) else []
        return self._page(call, mode="set", name=owner.name, infos=infos, **context)

    def _page(self, call: Call, **context: Any) -> Answer:
        return self._pages.render(call, "reset_password.html", **{"can_send": False, **context})
