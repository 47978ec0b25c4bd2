"""``/setup``: the first visit makes the competition and its administrator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

from ctfd_twisted.accounts.hasher import Hasher
from ctfd_twisted.accounts.integrations_page import make_integration_state
from ctfd_twisted.accounts.keys import Keys
from ctfd_twisted.accounts.rendering import Renderer, entrance_of, required_text, text_of
from ctfd_twisted.accounts.setup import SetupForm, set_up_competition, setup_problems
from ctfd_twisted.db.database import Database
from ctfd_twisted.errors import Invalid
from ctfd_twisted.files.pictures import PICTURES, Picture, picture_of
from ctfd_twisted.http.answers import Answer, redirect
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.forms import form_files
from ctfd_twisted.http.gates import ANYONE
from ctfd_twisted.http.routes import Routes

#: Where an empty field stands for its default, and where it stands for null.
_DEFAULTED = (
    "user_mode",
    "challenge_visibility",
    "account_visibility",
    "score_visibility",
    "registration_visibility",
    "ctf_theme",
)
_NULLABLE = ("verify_emails", "social_shares", "team_size")
_PLAIN = ("ctf_name", "ctf_description", "theme_color", "start", "end")


class KeepPictures(Protocol):
    """Keeps pictures, as ``files.keeping.PictureKeeper.keep`` does."""

    async def __call__(self, pictures: Mapping[str, Picture], /) -> dict[str, str]:
        """The location of each by its key. Raises ``OSError``."""


class SetupPage:
    """The setup form; afterwards it leads to the front page."""

    routes = Routes()

    def __init__(self, db: Database, pages: Renderer, hasher: Hasher, keys: Keys, keep: KeepPictures) -> None:
        self._db = db
        self._keep = keep
        self._pages = pages
        self._hasher = hasher
        self._keys = keys

    @routes.get("/setup", ANYONE, before_setup=True)
    def setup_form(self, call: Call) -> Answer:
        """The form."""
        if call.competition.is_set_up:
            return redirect(call.url("/"))
        return self._page(call)

    @routes.post("/setup", ANYONE, before_setup=True)
    async def set_up(self, call: Call) -> Answer:
        """Store everything and sign the administrator in."""
        if call.competition.is_set_up:
            return redirect(call.url("/"))
        form = _form(call)
        # Asked before the password is hashed, because a hash takes long, and once more when all is stored.
        pictures, wrong = _pictures(call)
        problems = await self._db.read(setup_problems, form) + wrong
        if problems:
            return self._again(call, form, problems)
        hashed = await self._hasher.make(form.password)
        entrance = entrance_of(call, self._keys, hashed)
        try:
            kept = await self._keep(pictures)
        except OSError as error:
            return self._again(call, form, [f"The pictures could not be kept: {error.strerror or error}"])
        try:
            await self._db.run(set_up_competition, call.now, form, hashed, entrance, kept)
        except Invalid as refused:
            return self._again(call, form, refused.errors[""])
        call.start_session(entrance.sid)
        return redirect(call.url("/"))

    def _again(self, call: Call, form: SetupForm, errors: Any) -> Answer:
        return self._page(call, errors=list(errors), **msgspec.structs.asdict(form))

    def _page(self, call: Call, **context: Any) -> Answer:
        state = make_integration_state(self._keys, call.now, call.nonce)
        return self._pages.render(call, "setup.html", state=state, **context)


def _pictures(call: Call) -> tuple[dict[str, Picture], list[str]]:
    """The pictures that came with the form, and what is wrong with those that can't be kept."""
    sent = form_files(call.request.getHeader(b"content-type") or b"", call.raw_body())
    pictures, wrong = {}, []
    for key, word in PICTURES.items():
        if key in sent:
            try:
                pictures[key] = picture_of(*sent[key])
            except ValueError as error:
                wrong.append(f"The {word} {error}")
    return pictures, wrong


def _form(call: Call) -> SetupForm:
    account = {key: required_text(call, key).strip() for key in ("name", "email", "password")}
    texts = {key: text_of(call, key) for key in _PLAIN}
    chosen = {key: text for key in _DEFAULTED if (text := text_of(call, key))}
    nullable: dict[str, Any] = {key: text_of(call, key) or None for key in _NULLABLE}
    return SetupForm(**account, **texts, **chosen, **nullable)
