"""The administrators' pages of webhooks. What they change goes through the REST API."""

from __future__ import annotations

from typing import Final

from ctfd_twisted.db.database import Database
from ctfd_twisted.http.answers import Answer
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.gates import ADMIN
from ctfd_twisted.http.pagination import asked_page
from ctfd_twisted.http.routes import Routes
from ctfd_twisted.web.pages import Pages
from ctfd_twisted.webhooks.deliveries import list_deliveries, show_delivery
from ctfd_twisted.webhooks.endpoints import list_endpoints, show_endpoint
from ctfd_twisted.webhooks.events import EVENT_NAMES
from ctfd_twisted.webhooks.shared_secret import read_shared_secret
from ctfd_twisted.webhooks.signatures import standard_secret

_PAGE_SIZE: Final = 50
_STATES: Final = frozenset({"pending", "delivered", "dead"})


class AdminWebhookPages:
    """``/admin/webhooks`` and what lies below it."""

    routes = Routes()

    def __init__(self, db: Database, pages: Pages) -> None:
        self._db = db
        self._pages = pages

    @routes.get("/admin/webhooks", ADMIN)
    async def all(self, call: Call) -> Answer:
        """Every endpoint, a form for one more, and the shared secret."""
        # The secret is made when it is first looked at, so this is no reading transaction.
        secret = await self._db.run(read_shared_secret, call.now)
        return self._pages.render(
            call,
            "admin/webhooks.html",
            endpoints=await self._db.read(list_endpoints),
            event_names=EVENT_NAMES,
            secret=secret,
            standard_secret=standard_secret(secret.secret),
        )

    @routes.get("/admin/webhooks/<int:endpoint_id>", ADMIN)
    async def one(self, call: Call, endpoint_id: int) -> Answer:
        """One endpoint: what it was sent, and its settings."""
        asked = call.argument("state")
        state = asked if asked in _STATES else None
        page = asked_page(call.argument("page"), size=_PAGE_SIZE)
        endpoint = await self._db.read(show_endpoint, endpoint_id)
        total, deliveries = await self._db.read(list_deliveries, endpoint_id, state, page.offset, page.size)
        return self._pages.render(
            call,
            "admin/webhook.html",
            endpoint=endpoint,
            deliveries=deliveries,
            chosen_state=state or "",
            page=page.meta(total)["pagination"],
            pager_path=f"/admin/webhooks/{endpoint_id}?" + (f"state={state}&" if state else ""),
            event_names=EVENT_NAMES,
        )

    @routes.get("/admin/webhooks/<int:endpoint_id>/deliveries/<delivery_id>", ADMIN)
    async def delivery(self, call: Call, endpoint_id: int, delivery_id: str) -> Answer:
        """One delivery: its body, and every attempt with what came back."""
        delivery, body, attempts = await self._db.read(show_delivery, endpoint_id, delivery_id)
        return self._pages.render(
            call,
            "admin/delivery.html",
            endpoint_id=endpoint_id,
            delivery=delivery,
            body=body.decode("utf-8", "replace"),
            attempts=attempts,
        )
