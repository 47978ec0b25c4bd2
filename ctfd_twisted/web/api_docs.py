"""The document of the REST API: for programs, for old programs, and for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from markupsafe import Markup

from ctfd_twisted.db.threads import InThread
from ctfd_twisted.http.answers import HTML, JSON, Answer, encode
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.described import Described
from ctfd_twisted.http.gates import ANYONE
from ctfd_twisted.http.openapi.document import make_document
from ctfd_twisted.http.openapi.swagger import swagger
from ctfd_twisted.http.routes import Routes
from ctfd_twisted.http.sharing import tagged_answer
from ctfd_twisted.http.site import HasRoutes
from ctfd_twisted.web.api_outline import outline
from ctfd_twisted.web.assets_store import Asset, make_asset
from ctfd_twisted.web.pages import Pages

#: It changes with the version of the server; who has it asks whether it still holds.
_KEPT: Final = (b"Cache-Control", b"no-cache")
_ALSO: Final = (
    Described(200, JSON, dict[str, Any], "The document."),
    Described(304, "", None, "The document that the caller has is this one."),
)


class _Made(msgspec.Struct, frozen=True):
    """The document in both versions."""

    new: Asset
    old: Asset
    value: dict[str, Any]


class ApiDocs:
    """What this API is.

    All of it is made when it is first asked for, in a thread, because it takes a quarter of a second.
    """

    routes = Routes()

    def __init__(
        self, pages: Pages, others: Sequence[HasRoutes], in_thread: InThread, *, malformed_status: int, root: str
    ) -> None:
        """*others* are all other classes of handlers; what of theirs is no part of the API is left out."""
        self._pages = pages
        self._others = others
        self._in_thread = in_thread
        self._malformed_status = malformed_status
        self._root = root
        self._made: _Made | None = None
        #: The page without its frame: the same for everybody.
        self._drawn: Markup | None = None

    @routes.get("/api/v1/openapi.json", ANYONE, always=True, also=_ALSO)
    async def openapi(self, call: Call) -> Answer:
        """This API in OpenAPI 3.1."""
        document = (await self._documents()).new
        return tagged_answer(call, document, document.content_type, _KEPT)

    @routes.get("/api/v1/swagger.json", ANYONE, always=True, also=_ALSO)
    async def swagger(self, call: Call) -> Answer:
        """This API in OpenAPI 2.0; what that format has no words for is left open."""
        document = (await self._documents()).old
        return tagged_answer(call, document, document.content_type, _KEPT)

    @routes.get("/api/v1/docs", ANYONE, before_setup=True, also=(Described(200, HTML, None, "The page."),))
    async def page(self, call: Call) -> Answer:
        """This API as a page for people."""
        if self._drawn is None:
            self._drawn = await self._in_thread(self._draw, call, (await self._documents()).value)
        return self._pages.render(call, "api_docs.html", drawn=self._drawn)

    async def _documents(self) -> _Made:
        if self._made is None:
            self._made = await self._in_thread(self._make)
        return self._made

    def _make(self) -> _Made:
        table = [one for api in (*self._others, self) for one in api.routes.of(api)]
        document = make_document(table, malformed_status=self._malformed_status, root=self._root)
        new, old = encode(document), encode(swagger(document))
        return _Made(make_asset("openapi.json", new), make_asset("swagger.json", old), document)

    def _draw(self, call: Call, document: dict[str, Any]) -> Markup:
        drawn = self._pages.part(call, "parts/api_docs.html", outline=outline(document))
        return Markup(drawn)  # noqa: S704 - a template of ours made it
