"""Links that players share: ``POST /api/v1/shares`` makes one, ``/share/solve`` is where it leads."""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable, Mapping
from html import escape
from typing import Final, TypedDict
from urllib.parse import urlencode

import msgspec
from markupsafe import Markup

from ctfd_twisted.challenges.view import Views
from ctfd_twisted.db.database import Database
from ctfd_twisted.errors import Forbidden, Invalid, NotFound
from ctfd_twisted.http.answers import Answer, ok
from ctfd_twisted.http.bodies import REQUIRED
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.gates import ANYONE, AUTHED
from ctfd_twisted.http.routes import Routes
from ctfd_twisted.web.pages import Pages
from ctfd_twisted.web.share_reads import SharedSolve, read_shared_solve

#: Signs a text for good; CTFd's construction, so that links it has made lead here as well.
Mac = Callable[[str], str]

#: The one kind of link that there is.
_SOLVE: Final = "solve"
_PLACEHOLDER: Final = re.compile(r"\{\{\s*(\w+)\s*\}\}|\{(\w+)\}")
#: What the page says unless the competition has a template of its own (``social_share_solve_template``).
_TEMPLATE: Final = (
    "<h1>{account_name} solved {challenge_name}</h1>"
    '<p>{challenge_value} points in {ctf_name}. <a href="{register_url}">Play too</a></p>'
)


class ShareFields(msgspec.Struct, frozen=True):
    """What POST takes; a user that it names is ignored, it is always the caller."""

    type: str
    challenge_id: int


class ShareQuery(msgspec.Struct, frozen=True):
    """What a link carries."""

    user_id: int | None = None
    challenge_id: int | None = None
    mac: str = ""


class ShareLink(TypedDict):
    """A link that whoever follows it is told of a solve by."""

    url: str


class SharePages:
    """Making links, and showing what they say."""

    routes = Routes()

    def __init__(self, db: Database, pages: Pages, views: Views, mac: Mac) -> None:
        self._db = db
        self._pages = pages
        self._views = views
        self._mac = mac

    @routes.post("/api/v1/shares", AUTHED, body=ShareFields, data=ShareLink)
    def share(self, call: Call) -> Answer:
        """A link that says that the caller has solved a challenge; whether they have is asked by who follows it."""
        _require_shares(call)
        fields = call.body(ShareFields)
        if fields.type != _SOLVE:
            raise Invalid(type=["Unknown share type"])
        user_id = call.require_player().id
        mac = self._mac(_signed_text(user_id, fields.challenge_id))
        query = urlencode({"user_id": user_id, "challenge_id": fields.challenge_id, "mac": mac})
        link: ShareLink = {"url": call.absolute_url(f"/share/{_SOLVE}?{query}")}
        return ok(link)

    @routes.get("/share/<kind>", ANYONE)
    async def show(self, call: Call, kind: str) -> Answer:
        """The page, with what other sites show of a link to it."""
        _require_shares(call)
        if kind != _SOLVE:
            raise NotFound
        wanted = call.query(ShareQuery)
        if wanted.user_id is None or wanted.challenge_id is None:
            ids = {"user_id": wanted.user_id, "challenge_id": wanted.challenge_id}
            raise Invalid({name: [REQUIRED] for name, value in ids.items() if value is None})
        mac = self._mac(_signed_text(wanted.user_id, wanted.challenge_id))
        if not hmac.compare_digest(mac.encode(), wanted.mac.encode("utf-8", "replace")):
            raise NotFound
        solve = await self._db.read(read_shared_solve, call.now, call.competition, wanted.user_id, wanted.challenge_id)
        values = await self._values(call, solve, wanted.challenge_id)
        template = call.competition.text("social_share_solve_template") or _TEMPLATE
        content = Markup(_filled(template, values))  # noqa: S704 - administrators' HTML, the values escaped
        logo = call.competition.text("ctf_logo")
        image = f"/files/{logo}" if logo else "/themes/core/static/img/pennant.svg"
        return self._pages.render(call, "share.html", content=content, values=values, image=call.absolute_url(image))

    async def _values(self, call: Call, solve: SharedSolve, challenge_id: int) -> dict[str, str]:
        """What stands for each placeholder; the count is empty where the caller may not see it."""
        view = self._views.ready(call) or await self._views.get(call)
        numbers = view.find(challenge_id).public
        counted = call.sees_scores and call.sees_accounts
        return {
            "ctf_name": call.competition.name,
            "ctf_description": call.competition.text("ctf_description"),
            "register_url": call.absolute_url("/register"),
            "challenge_name": solve.challenge_name,
            "challenge_value": str(numbers.value or 0),
            "account_name": solve.account_name,
            "user_name": solve.user_name,
            "team_name": solve.team_name,
            "solve_count": str(numbers.solves) if counted else "",
            "solve_count_word": "" if not counted else "solve" if numbers.solves == 1 else "solves",
        }


def _require_shares(call: Call) -> None:
    if not call.competition.truthy("social_shares", default=True):
        raise Forbidden


def _signed_text(user_id: int, challenge_id: int) -> str:
    return f"{_SOLVE}-{user_id}-{challenge_id}"


def _filled(template: str, values: Mapping[str, str]) -> str:
    """*template* with the placeholders that are known replaced by escaped values, and the others left."""

    def value(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        return escape(values[name]) if name in values else match[0]

    return _PLACEHOLDER.sub(value, template)
