"""``/register``."""

from __future__ import annotations

from typing import Any

import msgspec
from sqlalchemy import Connection
from twisted.logger import Logger

from ctfd_twisted.accounts.brackets import Bracket, BracketFilter, list_brackets
from ctfd_twisted.accounts.confirm_page import verification_letter
from ctfd_twisted.accounts.fields import Field, defined_fields
from ctfd_twisted.accounts.hasher import Hasher
from ctfd_twisted.accounts.keys import Keys
from ctfd_twisted.accounts.rendering import Renderer, answers_of, entrance_of, onward, text_of
from ctfd_twisted.accounts.signup import NewUser, check_room_for_user, register, registration_problems
from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.db.database import Database
from ctfd_twisted.errors import Invalid, NotFound
from ctfd_twisted.http.answers import Answer, redirect
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.gates import ANYONE
from ctfd_twisted.http.routes import Routes
from ctfd_twisted.mail.post import Post
from ctfd_twisted.mail.store import SealedLetter


class Asked(msgspec.Struct, frozen=True):
    """What the form asks beside name, e-mail and password, and what is wrong with what was given so far."""

    fields: tuple[Field, ...]
    brackets: tuple[Bracket, ...]
    problems: tuple[str, ...] = ()


class RegisterPage:
    """Signing up."""

    routes = Routes()
    log = Logger("registrations")

    def __init__(self, db: Database, pages: Renderer, hasher: Hasher, keys: Keys, post: Post) -> None:
        self._db = db
        self._pages = pages
        self._hasher = hasher
        self._keys = keys
        self._post = post

    @routes.get("/register", ANYONE)
    async def register_form(self, call: Call) -> Answer:
        """The form, while there is room."""
        if (elsewhere := _elsewhere(call)) is not None:
            return elsewhere
        return self._page(call, await self._db.read(asked, call.competition, None))

    @routes.post("/register", ANYONE, limit=(10, 5, "email"))
    async def register(self, call: Call) -> Answer:
        """Store the new user and sign them in."""
        if (elsewhere := _elsewhere(call)) is not None:
            return elsewhere
        form = _form(call)
        # Asked before the password is hashed, because a hash takes long, and once more when the user is stored.
        wanted = await self._db.read(asked, call.competition, form)
        if wanted.problems:
            return self._page(call, wanted, form)
        hashed = await self._hasher.make(form.password)
        entrance = entrance_of(call, self._keys, hashed)
        letter, onto = self._welcome(call, form.email, entrance.password_mac)
        try:
            await self._db.run(register, call.now, call.competition, form, hashed, entrance, letter)
        except Invalid as refused:
            return self._page(call, wanted, form, errors=refused.errors[""])
        call.start_session(entrance.sid)
        self.log.info(
            "{address} - {name!r} registered with {email!r}", address=call.address, name=form.name, email=form.email
        )
        return onward(call, onto)

    def _welcome(self, call: Call, email: str, password_mac: str) -> tuple[SealedLetter | None, str]:
        """Return the letter to a newcomer, and the page that comes next."""
        onto = "/team" if call.competition.teams else "/challenges"
        if not call.competition.truthy("verify_emails"):
            url = call.absolute_url("/")
            return self._post.write(call.competition, "successful_registration", email, url), onto
        letter = verification_letter(self._post, self._keys, call, email, password_mac)
        return letter, onto if letter is None else "/confirm"

    def _page(self, call: Call, wanted: Asked, form: NewUser | None = None, **context: Any) -> Answer:
        given: dict[str, Any] = (
            {}
            if form is None
            else {
                "name": form.name,
                "email": form.email,
                "bracket_id": form.bracket_id,
                "registration_code": form.registration_code,
                "given": form.answers,
            }
        )
        errors = {"errors": list(wanted.problems), **context}
        return self._pages.render(
            call, "register.html", fields=wanted.fields, brackets=wanted.brackets, **given, **errors
        )


def asked(conn: Connection, competition: Competition, form: NewUser | None) -> Asked:
    """Return what the form asks, and what is wrong with *form*; raises ``Forbidden`` where the competition is full."""
    check_room_for_user(conn, competition)
    problems = () if form is None else tuple(registration_problems(conn, competition, form))
    return Asked(defined_fields(conn, "user"), list_brackets(conn, BracketFilter(type="users")), problems)


def _elsewhere(call: Call) -> Answer | None:
    if call.competition.registration_visibility != "public":
        raise NotFound
    return redirect(call.url("/challenges")) if call.player is not None else None


def _form(call: Call) -> NewUser:
    return NewUser(
        name=text_of(call, "name"),
        email=text_of(call, "email").lower(),
        password=text_of(call, "password"),
        website=text_of(call, "website"),
        affiliation=text_of(call, "affiliation"),
        country=text_of(call, "country"),
        bracket_id=text_of(call, "bracket_id"),
        registration_code=text_of(call, "registration_code"),
        answers=answers_of(call),
    )
