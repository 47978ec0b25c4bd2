"""What the REST API answers, for pages that draw it: so there is one decision about who sees what."""

from __future__ import annotations

from collections.abc import Iterable
from inspect import isawaitable
from typing import Any

import msgspec

from ctfd_twisted.errors import Impossible, NotFound
from ctfd_twisted.http.answers import Answer
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.site import HasRoutes


class ApiAnswers:
    """The handlers of the REST API by method and path.

    They get the page's own call; the gates of their routes are asked by the page.
    """

    def __init__(self, apis: Iterable[HasRoutes]) -> None:
        self._handlers = {(route.method, route.path): handler for api in apis for route, handler in api.routes.of(api)}

    async def data(self, call: Call, method: str, path: str, **parameters: object) -> Any:
        """The ``data`` of the answer; raises what the handler raises, ``Impossible`` where it has only a message."""
        body: dict[str, Any] = msgspec.json.decode(await self.body(call, method, path, **parameters))
        if "data" not in body:
            raise Impossible({"": [str(body.get("message", ""))]})
        return body["data"]

    async def body(self, call: Call, method: str, path: str, **parameters: object) -> bytes:
        """The answer as it is; raises what the handler raises."""
        handler = self._handlers.get((method, path))
        if handler is None:
            raise NotFound
        call.inside = True
        try:
            answered = handler(call, **parameters)
            answer: Answer = await answered if isawaitable(answered) else answered
        finally:
            call.inside = False
        return answer.body
