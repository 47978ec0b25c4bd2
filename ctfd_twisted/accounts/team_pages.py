"""``/teams/new``, ``/teams/join``, ``/teams/invite``: the ways into a team. In users mode all of them are 404."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection

from ctfd_twisted.accounts.brackets import BracketFilter, list_brackets
from ctfd_twisted.accounts.fields import defined_fields
from ctfd_twisted.accounts.hasher import Hasher
from ctfd_twisted.accounts.keys import Keys
from ctfd_twisted.accounts.membership import (
    IN_A_TEAM,
    INCORRECT,
    JoinableTeam,
    find_team,
    join_team,
    read_invite,
    somebodys_hash,
)
from ctfd_twisted.accounts.register_page import Asked
from ctfd_twisted.accounts.rendering import Renderer, answers_of, required_text, text_of
from ctfd_twisted.accounts.signup import Form, check_room_for_team, found_team, team_problems
from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.db.database import Database
from ctfd_twisted.errors import Forbidden, Invalid, NotFound
from ctfd_twisted.http.answers import Answer, RedirectTo, redirect
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.gates import AUTHED, TEAMS_MODE
from ctfd_twisted.http.routes import Routes


def REGISTERED(call: Call) -> None:  # noqa: N802 - gates read as words
    """Whoever is logged in passes; others may sign up first, and come back."""
    if call.player is None and not call.is_json and call.competition.registration_visibility == "public":
        raise RedirectTo(call.with_next("/register"))
    call.require_player()


class TeamPages:
    """Creating and joining teams."""

    routes = Routes()

    def __init__(self, db: Database, pages: Renderer, hasher: Hasher, keys: Keys) -> None:
        self._db = db
        self._pages = pages
        self._hasher = hasher
        self._keys = keys

    @routes.get("/teams/new", TEAMS_MODE, AUTHED)
    async def new_team_form(self, call: Call) -> Answer:
        """The form, while there is room."""
        wanted = await self._db.read(asked_of_team, call.competition, call.require_player().id, None)
        return self._new_page(call, wanted, None, [IN_A_TEAM] if call.require_player().team_id is not None else [])

    @routes.post("/teams/new", TEAMS_MODE, AUTHED)
    async def new_team(self, call: Call) -> Answer:
        """Store the new team with its founder as captain."""
        player = call.require_player()
        form = Form(
            name=text_of(call, "name"),
            password=text_of(call, "password"),
            website=text_of(call, "website"),
            affiliation=text_of(call, "affiliation"),
            country=text_of(call, "country"),
            bracket_id=text_of(call, "bracket_id"),
            answers=answers_of(call),
        )
        wanted = await self._db.read(asked_of_team, call.competition, player.id, form)
        if wanted.problems:
            return self._new_page(call, wanted, form, wanted.problems)
        hashed = await self._hasher.make(form.password)
        try:
            await self._db.run(found_team, call.now, call.competition, form, hashed, player.id)
        except Invalid as refused:
            return self._new_page(call, wanted, form, refused.errors[""])
        return redirect(call.url("/challenges"))

    @routes.get("/teams/join", TEAMS_MODE, AUTHED)
    def join_form(self, call: Call) -> Answer:
        """The form for a team's name and password."""
        return self._in_team(call, "team_join.html") or self._pages.render(call, "team_join.html")

    @routes.post("/teams/join", TEAMS_MODE, AUTHED, limit=(10, 5))
    async def join(self, call: Call) -> Answer:
        """Join a team by its name and password."""
        if (inside := self._in_team(call, "team_join.html")) is not None:
            return inside
        name, password = required_text(call, "name").strip(), required_text(call, "password").strip()
        try:
            team = await self._shown(name, password)
            await self._join(call, team, becomes_captain=True)
        except (Invalid, NotFound) as refused:
            errors = refused.errors[""] if isinstance(refused, Invalid) else [INCORRECT]
            return self._pages.render(call, "team_join.html", name=name, errors=errors)
        except Forbidden as refused:
            return self._pages.render(call, "team_join.html", 403, name=name, errors=[refused.message])
        return redirect(call.url("/challenges"))

    @routes.get("/teams/invite", TEAMS_MODE, REGISTERED)
    async def invite_form(self, call: Call) -> Answer:
        """The team that an invite leads to."""
        team = await self._invited(call)
        return self._pages.render(call, "team_invite.html", team_name=team.name)

    @routes.post("/teams/invite", TEAMS_MODE, REGISTERED)
    async def accept_invite(self, call: Call) -> Answer:
        """Join the team that an invite leads to; no password is asked."""
        team = await self._invited(call)
        if (inside := self._in_team(call, "team_invite.html", team_name=team.name)) is not None:
            return inside
        try:
            await self._join(call, team, becomes_captain=False)
        except Invalid as refused:
            return self._pages.render(call, "team_invite.html", 403, team_name=team.name, errors=refused.errors[""])
        except NotFound:
            raise Forbidden("This invite URL is invalid") from None
        return redirect(call.url("/challenges"))

    async def _shown(self, name: str, password: str) -> JoinableTeam:
        """Return the team whose password was shown; raises ``NotFound`` after the same time for any other."""
        team = await self._db.read(find_team, name)
        if team is None or team.password is None:
            await self._hasher.verify_as_long(password, await self._db.read(somebodys_hash))
            raise NotFound
        # An empty password is none: such a team is joined by invite alone.
        if not await self._hasher.verify(password, team.password) or not password:
            raise NotFound
        return team

    async def _join(self, call: Call, team: JoinableTeam, *, becomes_captain: bool) -> None:
        player = call.require_player()
        await self._db.run(join_team, call.competition, team, player.id, becomes_captain=becomes_captain)

    async def _invited(self, call: Call) -> JoinableTeam:
        code = call.argument("code")
        if not code:
            raise NotFound
        return await self._db.read(read_invite, call.now, self._keys, code)

    def _in_team(self, call: Call, template: str, **context: Any) -> Answer | None:
        if call.require_player().team_id is None:
            return None
        return self._pages.render(call, template, 403, errors=[IN_A_TEAM], **context)

    def _new_page(self, call: Call, wanted: Asked, form: Form | None, errors: Any) -> Answer:
        given = {} if form is None else {"name": form.name, "bracket_id": form.bracket_id, "given": form.answers}
        return self._pages.render(
            call,
            "team_new.html",
            403 if errors else 200,
            fields=wanted.fields,
            brackets=wanted.brackets,
            errors=list(errors),
            **given,
        )


def asked_of_team(conn: Connection, competition: Competition, user_id: int, form: Form | None) -> Asked:
    """Return what the form asks, and what is wrong with *form*; raises ``Forbidden`` where no team may be created."""
    check_room_for_team(conn, competition)
    problems = () if form is None else tuple(team_problems(conn, form, user_id))
    return Asked(defined_fields(conn, "team"), list_brackets(conn, BracketFilter(type="teams")), problems)
