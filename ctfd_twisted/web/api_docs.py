"""The document of the REST API: for programs, and for old programs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final

from ctfd_twisted.http.answers import JSON, Answer, encode
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.described import Described
from ctfd_twisted.http.gates import ANYONE
from ctfd_twisted.http.openapi.document import make_document
from ctfd_twisted.http.openapi.swagger import swagger
from ctfd_twisted.http.routes import Routes
from ctfd_twisted.http.site import HasRoutes
from ctfd_twisted.web.assets_pages import asset_answer
from ctfd_twisted.web.assets_store import Asset, make_asset

#: It changes with the version of the server; who has it asks whether it still holds.
_KEPT: Final = (b"Cache-Control", b"no-cache")
_SAME: Final = Described(304, "", None, "The document that the caller has is this one.")


class ApiDocs:
    """What this API is."""

    routes = Routes()

    def __init__(self, others: Sequence[HasRoutes], *, malformed_status: int, root: str) -> None:
        """*others* are all other classes of handlers; what of theirs is no part of the API is left out."""
        self._others = others
        self._malformed_status = malformed_status
        self._root = root

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
