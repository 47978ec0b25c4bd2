"""Links that players share: ``POST /api/v1/shares`` makes one, ``/share/solve`` is where it leads."""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable, Mapping
from html import escape
from typing import Final, NamedTuple, TypedDict
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
from ctfd_twisted.web.share_image import HEIGHT, WIDTH, Card
from ctfd_twisted.web.share_pictures import Pictures
from ctfd_twisted.web.share_reads import SharedSolve, read_logo, read_shared_solve

#: Signs a text for good; CTFd's construction, so that links it has made lead here as well.
Mac = Callable[[str], str]

#: What it says changes with every solve, and who is in it may be hidden.
_FRESH: Final = ((b"Cache-Control", b"no-cache"),)
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


class _Wanted(NamedTuple):
    """What a link carries, with nothing missing but perhaps the mac."""

    user_id: int
    challenge_id: int
    mac: str


class ShareLink(TypedDict):
    """A link that whoever follows it is told of a solve by."""

    url: str


class SharePages:
    """Making links, and showing what they say."""

    routes = Routes()

    def __init__(self, db: Database, pages: Pages, views: Views, mac: Mac, pictures: Pictures) -> None:
        self._db = db
        self._pictures = pictures
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
        wanted, mac = self._followed(call, kind)
        if not hmac.compare_digest(mac.encode(), wanted.mac.encode("utf-8", "replace")):
            raise NotFound
        values = await self._values(call, await self._solve(call, wanted), wanted.challenge_id)
        template = call.competition.text("social_share_solve_template") or _TEMPLATE
        content = Markup(_filled(template, values))  # noqa: S704 - administrators' HTML, the values escaped
        query = urlencode({"user_id": wanted.user_id, "challenge_id": wanted.challenge_id})
        image = call.absolute_url(f"/share/{_SOLVE}/assets/{mac}.png?{query}")
        return self._pages.render(call, "share.html", middle=content, values=values, image=image, size=(WIDTH, HEIGHT))

    @routes.get("/share/<kind>/assets/<name>", ANYONE)
    async def picture(self, call: Call, kind: str, name: str) -> Answer:
        """The picture that other sites show with a link."""
        wanted, mac = self._followed(call, kind)
        if not hmac.compare_digest(f"{mac}.png".encode(), name.encode("utf-8", "replace")):
            raise NotFound
        values = await self._values(call, await self._solve(call, wanted), wanted.challenge_id)
        counted = f" · {values['solve_count']} {values['solve_count_word']}" if values["solve_count"] else ""
        card = Card(
            competition=values["ctf_name"],
            account=values["account_name"],
            challenge=values["challenge_name"],
            numbers=f"{values['challenge_value']} points{counted}",
        )
        place = call.competition.text("ctf_logo")
        logo = await self._db.read(read_logo, place) if place else None
        return Answer(await self._pictures.of(card, logo, call.now), content_type="image/png", headers=_FRESH)

    def _followed(self, call: Call, kind: str) -> tuple[_Wanted, str]:
        """What a link asks for, and the mac that it must carry."""
        _require_shares(call)
        if kind != _SOLVE:
            raise NotFound
        query = call.query(ShareQuery)
        if query.user_id is None or query.challenge_id is None:
            ids = {"user_id": query.user_id, "challenge_id": query.challenge_id}
            raise Invalid({name: [REQUIRED] for name, value in ids.items() if value is None})
        wanted = _Wanted(query.user_id, query.challenge_id, query.mac)
        return wanted, self._mac(_signed_text(wanted.user_id, wanted.challenge_id))

    async def _solve(self, call: Call, wanted: _Wanted) -> SharedSolve:
        return await self._db.read(read_shared_solve, call.now, call.competition, wanted.user_id, wanted.challenge_id)

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
