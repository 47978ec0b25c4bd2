"""The document of the REST API: for programs, for old programs, and for people."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final

from markupsafe import Markup

from ctfd_twisted.http.answers import HTML, JSON, Answer, encode
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.described import Described
from ctfd_twisted.http.gates import ANYONE
from ctfd_twisted.http.openapi.document import make_document
from ctfd_twisted.http.openapi.swagger import swagger
from ctfd_twisted.http.routes import Routes
from ctfd_twisted.http.site import HasRoutes
from ctfd_twisted.web.api_outline import outline
from ctfd_twisted.web.assets_pages import asset_answer
from ctfd_twisted.web.assets_store import Asset, make_asset
from ctfd_twisted.web.pages import Pages

#: It changes with the version of the server; who has it asks whether it still holds.
_KEPT: Final = (b"Cache-Control", b"no-cache")
_SAME: Final = Described(304, "", None, "The document that the caller has is this one.")


class ApiDocs:
    """What this API is."""

    routes = Routes()

    def __init__(self, pages: Pages, others: Sequence[HasRoutes], *, malformed_status: int, root: str) -> None:
        """*others* are all other classes of handlers; what of theirs is no part of the API is left out."""
        self._pages = pages
        self._others = others
        self._malformed_status = malformed_status
        self._root = root
        #: The page without its frame: the same for everybody.
        self._drawn: Markup | None = None

    @routes.get(
        "/api/v1/openapi.json",
        ANYONE,
        always=True,
        also=(Described(200, JSON, dict[str, Any], "The document."), _SAME),
    )
    def openapi(self, call: Call) -> Answer:
        """This API in OpenAPI 3.1."""
        return asset_answer(call, self._new, _KEPT)

    @routes.get(
        "/api/v1/swagger.json",
        ANYONE,
        always=True,
        also=(Described(200, JSON, dict[str, Any], "The document."), _SAME),
    )
    def swagger(self, call: Call) -> Answer:
        """This API in OpenAPI 2.0; what that format has no words for is left open."""
        return asset_answer(call, self._old, _KEPT)

    @routes.get("/api/v1/docs", ANYONE, before_setup=True, also=(Described(200, HTML, None, "The page."),))
    def page(self, call: Call) -> Answer:
        """This API as a page for people."""
        if self._drawn is None:
            drawn = self._pages.part(call, "parts/api_docs.html", outline=outline(self.document))
            self._drawn = Markup(drawn)  # noqa: S704 - a template of ours made it
        return self._pages.render(call, "api_docs.html", drawn=self._drawn)

    @cached_property
    def document(self) -> dict[str, Any]:
        """The document as a JSON value."""
        table = [one for api in (*self._others, self) for one in api.routes.of(api)]
        return make_document(table, malformed_status=self._malformed_status, root=self._root)

    @cached_property
    def _new(self) -> Asset:
        return make_asset("openapi.json", encode(self.document))

    @cached_property
    def _old(self) -> Asset:
        return make_asset("swagger.json", encode(swagger(self.document)))
