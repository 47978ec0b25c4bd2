"""``/confirm``: that an e-mail address is one's own."""

from __future__ import annotations

from typing import Final

from ctfd_twisted.accounts.confirmation import confirm_address, make_confirmation, read_confirmation
from ctfd_twisted.accounts.keys import Keys
from ctfd_twisted.accounts.rendering import Renderer
from ctfd_twisted.db.database import Database
from ctfd_twisted.errors import NotFound
from ctfd_twisted.http.answers import Answer, redirect
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.gates import ANYONE
from ctfd_twisted.http.routes import Routes
from ctfd_twisted.mail.post import Post
from ctfd_twisted.mail.store import SealedLetter, enqueue

NO_MAIL: Final = (
    "Email verification is enabled but email sending isn't available. Please contact an admin to confirm your account"
)
INVALID: Final = "Your confirmation link is invalid, please generate a new one"


def verification_letter(post: Post, keys: Keys, call: Call, email: str, password_mac: str) -> SealedLetter | None:
    """Return the letter with the link that confirms *email*; ``None`` where no mail is possible."""
    url = call.absolute_url(f"/confirm/{make_confirmation(keys, call.now, email, password_mac)}")
    return post.write(call.competition, "verification", email, url)


class ConfirmPage:
    """Having a link sent, and following it."""

    routes = Routes()

    def __init__(self, db: Database, pages: Renderer, keys: Keys, post: Post, *, button: bool) -> None:
        """Put the parts together; with a *button* a link alone confirms nothing: some mail servers follow links."""
        self._db = db
        self._pages = pages
        self._keys = keys
        self._post = post
        self._button = button

    @routes.get("/confirm", ANYONE)
    def confirm_page(self, call: Call) -> Answer:
        """The page that says where the link went, or will go."""
        if (elsewhere := self._elsewhere(call)) is not None:
            return elsewhere
        return self._pages.render(call, "confirm.html", first=call.argument("flow") == "init")

    @routes.post("/confirm", ANYONE, limit=(10, 60))
    async def send_link(self, call: Call) -> Answer:
        """Send a new link."""
        if (elsewhere := self._elsewhere(call)) is not None:
            return elsewhere
        player = call.require_player()
        email = player.email or ""
        letter = verification_letter(self._post, self._keys, call, email, player.session_hash)
        if letter is not None:
            await self._db.run(enqueue, call.now, letter)
        return self._pages.render(call, "confirm.html", infos=[f"Confirmation email sent to {email}!"])

    @routes.get("/confirm/<link>", ANYONE)
    async def follow_link(self, call: Call, link: str) -> Answer:
        """Follow a link; nobody needs to be signed in."""
        if (impossible := self._without_mail(call)) is not None:
            return impossible
        claim = read_confirmation(self._keys, call.now, link)
        if claim is None:
            return self._invalid(call)
        if self._button and not call.argument("interaction"):
            url = call.url(f"/confirm/{link}?interaction=1")
            return self._pages.render(call, "confirm.html", interaction_url=url)
        letter = None
        if call.competition.truthy("verify_emails"):
            letter = self._post.write(call.competition, "successful_registration", claim.email, call.absolute_url("/"))
        try:
            news = await self._db.run(confirm_address, call.now, self._keys, claim, letter)
        except NotFound:
            return self._invalid(call)
        if not news:
            return redirect(call.url("/settings"))
        return redirect(call.url("/login" if call.player is None else "/challenges"))

    @routes.post("/confirm/<link>", ANYONE, limit=(10, 60))
    async def send_another_link(self, call: Call, link: str) -> Answer:  # noqa: ARG002 - every parameter of the path
        """Send a new link from the page of one that did not work."""
        return await self.send_link(call)

    def _invalid(self, call: Call) -> Answer:
        return self._pages.render(call, "confirm.html", errors=[INVALID])

    def _elsewhere(self, call: Call) -> Answer | None:
        if (impossible := self._without_mail(call)) is not None:
            return impossible
        if call.player is None:
            return redirect(call.url("/login"))
        return redirect(call.url("/settings")) if call.player.verified else None

    def _without_mail(self, call: Call) -> Answer | None:
        if self._post.possible(call.competition):
            return None
        if not call.competition.truthy("verify_emails"):
            return redirect(call.url("/challenges"))
        return self._pages.render(call, "confirm.html", errors=[NO_MAIL], can_send=False)
