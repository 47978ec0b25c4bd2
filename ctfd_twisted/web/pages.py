"""Pages: one template, what every page needs, and the headers that protect it."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache
from http import HTTPStatus
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from twisted.internet.defer import Deferred
from twisted.logger import Logger

from ctfd_twisted.challenges.memo import Memo
from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.content.public_pages import PublicPages
from ctfd_twisted.db.snapshot import Snapshot
from ctfd_twisted.errors import Busy
from ctfd_twisted.http.answers import HTML, Answer
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.sharing import takes_gzip
from ctfd_twisted.web.assets_store import Assets
from ctfd_twisted.web.frames import Frame, Html, Middle, NoncedHtml, new_marks
from ctfd_twisted.web.init_script import EVENT_SOUNDS, admin_init, public_init
from ctfd_twisted.web.kept import Draw
from ctfd_twisted.web.menus import ADMIN_MENU, main_menu
from ctfd_twisted.web.texts import FILTERS
from ctfd_twisted.web.theme_code import with_nonce

_BARE: Final = Competition({})
#: What is made of more text than this that the caller has sent is not kept: it weighs more than it says.
_LONGEST: Final = 1000

_POLICY: Final = (
    "script-src 'self' 'nonce-{0}'; style-src 'self' 'nonce-{0}'; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'self'"
)

#: What stands on an error page where nothing more telling is known.
ERROR_TEXTS: Final[Mapping[int, str]] = {
    401: "You have to log in again to see this.",
    403: "You may not see this.",
    404: "There is nothing at this address.",
    413: "What you sent is too large.",
    429: "That was too often. Please wait a moment.",
    500: "An Internal Server Error has occurred",
    502: "A server behind this one did not answer.",
    503: "The server is busy. Please try again in a moment.",
}


class Pages:
    """Renders templates. Everything that waits has been waited for before: rendering is synchronous and does no I/O.

    The custom pages in the menu come from a snapshot; while it is rebuilt, the menu of a moment ago is shown.
    """

    _log = Logger()

    def __init__(
        self, assets: Assets, public_pages: Snapshot[PublicPages], oauth: Callable[[Competition], bool]
    ) -> None:
        """Put the pages together; *oauth* says whether one can sign in with MajorLeagueCyber."""
        self._assets = assets
        self._oauth = oauth
        self._public_pages = public_pages
        self._known_pages = PublicPages()
        self._marks = new_marks()
        self._frames: Memo[Frame] = Memo(lambda frame: frame.weight)
        self._templates = _templates()

    def render(self, call: Call, template: str, status: int = 200, **context: Any) -> Answer:
        """The page of *template* for *call*.

        Forms may pass ``errors`` and ``infos``, lists of sentences that stand above the form; both may be left out.
        A page of administrators is one whose template lies in ``admin/``.
        """
        return self._page(call, template, status, secrets.token_urlsafe(18), context)

    def custom(self, call: Call, title: str, html: NoncedHtml) -> Answer:
        """A page around *html* that an administrator wrote; its scripts and styles are let through."""
        return self.around(call, "page.html", (title,), html, page_title=title)

    def around(
        self,
        call: Call,
        template: str,
        basis: tuple[Hashable, ...],
        middle: Middle | NoncedHtml | None = None,
        **context: Any,
    ) -> Answer:
        """The page of *template* around *middle*, which stands where the template has ``middle``; kept for the caller.

        All that *context* says is in *basis*, and the page depends on nothing else but who calls and the settings.
        """
        key, made_of = (template, call.route_path, call.player, basis), (call.competition, self._menu_pages())
        frame = self._frames.get(key, made_of, call.now)
        if frame is None:
            marks = self._marks
            values = self._frame(call, marks.policy, marks.form, admin=False)
            values |= {"errors": (), "infos": (), "middle": Markup(marks.middle), **context}  # noqa: S704 - ours
            frame = Frame(self._templates.get_template(template).render(values), marks)
            if sum(len(text) for text in (call.route_path, *basis) if isinstance(text, str)) <= _LONGEST:
                self._frames.put(key, made_of, None, frame)
        policy_nonce = secrets.token_urlsafe(18)
        headers = (*_headers(policy_nonce), (b"Vary", b"Accept-Encoding"))
        if isinstance(middle, NoncedHtml):
            middle = middle.under(policy_nonce)
        if takes_gzip(call):
            zipped = frame.zipped(policy_nonce, call.nonce, middle)
            return Answer(zipped, 200, HTML, (*headers, (b"Content-Encoding", b"gzip")))
        return Answer(frame.body(policy_nonce, call.nonce, middle), 200, HTML, headers)

    def macro(self, template: str, name: str) -> Draw:
        """A macro of a template, which draws a piece out of its values alone."""
        found: Draw = getattr(self._templates.get_template(template).module, name)
        return found

    def fragment(self, call: Call, template: str, status: int = 200, **context: Any) -> Answer:
        """A part of a page, for a script that puts it into one that is already shown: without frame and ``init``."""
        body = self.part(call, template, call.nonce, **context)
        return _answer(body, status, secrets.token_urlsafe(18))

    def part(self, call: Call, template: str, nonce: str = "", **context: Any) -> str:
        """The HTML of a part of a page. Without the *nonce* its forms can't be sent, and it may be kept for others."""
        shared = self._shared(call.front.root, nonce)
        who = {"call": call, "player": call.player, "competition": call.competition}
        return self._templates.get_template(template).render({**shared, **who, "errors": (), "infos": (), **context})

    def drawn(self, template: str, root: str, **context: Any) -> Html:
        """The middle of pages for everybody below *root*; may be called in any thread."""
        return Html(self._templates.get_template(template).render({**self._shared(root, ""), **context}))

    def error(
        self, call: Call | None, status: int, text: str = "", headers: Sequence[tuple[bytes, bytes]] = ()
    ) -> Answer:
        """The error page of *status*; without a *call* (nothing is known about the asker yet) it has no menu.

        *headers* are put beside those of every page, ``Retry-After`` for example.
        """
        reason = HTTPStatus(status).phrase
        text = text or ERROR_TEXTS.get(status, reason)
        if call is None:
            policy_nonce = secrets.token_urlsafe(18)
            values = {**self._shared("", ""), "csp_nonce": policy_nonce, "competition": _BARE}
            body = self._templates.get_template("error_bare.html").render(
                {**values, "status": status, "reason": reason, "text": text}
            )
            answer = _answer(body, status, policy_nonce)
        else:
            answer = self.render(call, "error.html", status, status_code=status, reason=reason, text=text)
        return Answer(answer.body, answer.status, answer.content_type, (*answer.headers, *headers))

    def _page(self, call: Call, template: str, status: int, policy_nonce: str, context: Mapping[str, Any]) -> Answer:
        frame = self._frame(call, policy_nonce, call.nonce, admin=template.startswith("admin/"))
        body = self._templates.get_template(template).render({**frame, "errors": (), "infos": (), **context})
        return _answer(body, status, policy_nonce)

    def _shared(self, root: str, nonce: str) -> dict[str, Any]:
        version = self._assets.version
        return {
            "url": lambda path: root + path,
            "static": lambda path: f"{root}/themes/core/static/{path}?d={version}",
            "assets": self._assets,
            "nonce": nonce,
        }

    def _frame(self, call: Call, policy_nonce: str, nonce: str, *, admin: bool) -> dict[str, Any]:
        competition, player, root = call.competition, call.player, call.front.root
        shared = self._shared(root, nonce)
        if admin:
            init = admin_init(root=root, nonce=nonce, player=player, competition=competition)
        else:
            sounds = tuple(shared["static"](sound) for sound in EVENT_SOUNDS)
            init = public_init(root=root, nonce=nonce, player=player, competition=competition, sounds=sounds)
        return {
            **shared,
            "call": call,
            "player": player,
            "competition": competition,
            "csp_nonce": policy_nonce,
            "init": Markup(init),  # noqa: S704 - every value in it is encoded by in_script
            "menu": main_menu(call, self._menu_pages()),
            "admin_menu": ADMIN_MENU,
            "here": call.route_path,
            "oauth": self._oauth(competition),
            "logo": competition.text("ctf_logo"),
            "icon": competition.text("ctf_small_icon"),
            # The competition's own code, which only its administrators can write.
            "theme_header": Markup(with_nonce(competition.text("theme_header"), policy_nonce)),  # noqa: S704
            "theme_footer": Markup(with_nonce(competition.text("theme_footer"), policy_nonce)),  # noqa: S704
        }

    def _menu_pages(self) -> PublicPages:
        ready = self._public_pages.ready()
        if ready is not None:
            self._known_pages = ready
        else:
            # Where the transaction runs at once (tests), the value is there before this returns.
            built = Deferred.fromCoroutine(self._rebuild())
            built.addErrback(lambda failure: failure.trap(Busy))  # the database has said why itself
            built.addErrback(lambda failure: self._log.failure("the menu's pages could not be read", failure))
        return self._known_pages

    async def _rebuild(self) -> None:
        self._known_pages = await self._public_pages.get()


def _answer(body: str, status: int, policy_nonce: str) -> Answer:
    return Answer(body.encode("utf-8", "replace"), status, HTML, _headers(policy_nonce))


def _headers(policy_nonce: str) -> tuple[tuple[bytes, bytes], ...]:
    # Kept by nobody: who goes back after having signed out would see what is not theirs any more.
    return (
        (b"Cache-Control", b"no-store"),
        (b"Content-Security-Policy", _POLICY.format(policy_nonce).encode()),
    )


@cache
def _templates() -> Environment:
    """Every template, compiled once in a process, which takes a third of a second; they never change while it runs."""
    templates = Environment(
        loader=PackageLoader("ctfd_twisted.web", "templates"),
        autoescape=True,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    templates.filters.update(FILTERS)
    for name in templates.list_templates(extensions=["html"]):
        templates.get_template(name)
    return templates
