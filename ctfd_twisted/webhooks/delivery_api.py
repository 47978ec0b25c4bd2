"""The REST API of webhooks: deliveries, the log that receivers catch up on, and the shared secret."""

from __future__ import annotations

from typing import Final, Literal

from msgspec import UNSET, Struct, UnsetType

from ctfd_twisted.db.database import Database
from ctfd_twisted.errors import Invalid
from ctfd_twisted.http.answers import Answer, ok
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.gates import ADMIN
from ctfd_twisted.http.pagination import AskedPages, Paged, asked_page
from ctfd_twisted.http.routes import Routes
from ctfd_twisted.webhooks import deliveries, views
from ctfd_twisted.webhooks.shared_secret import read_shared_secret, rotate_shared_secret

PAGE: Final = 20
LARGEST_PAGE: Final = 100
LONGEST_OVERLAP: Final = 7 * 86_400
#: No event has a greater number.
_LAST: Final = 2**31 - 1


class Rotation(Struct):
    """The body of a rotation: for how many seconds the old secret signs as well."""

    overlap_seconds: int = 86_400


class Wanted(Struct):
    """The query of a list of deliveries."""

    state: Literal["pending", "delivered", "dead"] | UnsetType = UNSET


class Since(Struct):
    """The query of the log."""

    after: int = 0


class DeliveryApi:
    """What lies below ``/api/v1/webhooks`` beside the endpoints themselves."""

    routes = Routes()

    def __init__(self, db: Database) -> None:
        self._db = db

    @routes.get(
        "/api/v1/webhooks/<int:endpoint_id>/deliveries",
        ADMIN,
        query=(Wanted, AskedPages),
        data=list[views.DeliveryShown],
        meta=Paged,
    )
    async def deliveries(self, call: Call, endpoint_id: int) -> Answer:
        """What was sent, and what is owed, the newest first."""
        state, asked = call.query(Wanted).state, call.query(AskedPages)
        page = asked_page(asked.page, asked.per_page, size=PAGE, most=LARGEST_PAGE)
        total, found = await self._db.read(
            deliveries.list_deliveries, endpoint_id, None if state is UNSET else state, page.offset, page.size
        )
        return ok([views.delivery_shown(delivery) for delivery in found], meta=page.meta(total))

    @routes.get("/api/v1/webhooks/<int:endpoint_id>/deliveries/<delivery_id>", ADMIN, data=views.DeliveryWithAttempts)
    async def delivery(self, _call: Call, endpoint_id: int, delivery_id: str) -> Answer:
        """One delivery: what is sent, and every attempt with what came back."""
        found = await self._db.read(deliveries.show_delivery, endpoint_id, delivery_id)
        return ok(views.delivery_with_attempts(*found))

    @routes.post(
        "/api/v1/webhooks/<int:endpoint_id>/deliveries/<delivery_id>/redeliver", ADMIN, data=views.DeliveryShown
    )
    async def redeliver(self, call: Call, endpoint_id: int, delivery_id: str) -> Answer:
        """Send one delivery once more."""
        sent = await self._db.run(deliveries.redeliver, call.now, endpoint_id, delivery_id)
        return ok(views.delivery_shown(sent))

    @routes.post("/api/v1/webhooks/<int:endpoint_id>/redeliver", ADMIN, data=views.Redelivered)
    async def redeliver_dead(self, call: Call, endpoint_id: int) -> Answer:
        """Send every dead delivery once more."""
        again: views.Redelivered = {"redelivered": await self._db.run(deliveries.redeliver_dead, call.now, endpoint_id)}
        return ok(again)

    @routes.get("/api/v1/webhooks/events", ADMIN, query=Since, data=list[views.LoggedEvent], meta=views.LogMeta)
    async def events(self, call: Call) -> Answer:
        """The log after a number, without gaps: how a receiver that was away catches up."""
        after = call.query(Since).after
        last, found = await self._db.read(deliveries.events_after, min(after, _LAST))
        meta: views.LogMeta = {"last": last, "more": bool(found) and found[-1].seq < last}
        return ok([views.event_shown(event) for event in found], meta=meta)

    @routes.get("/api/v1/webhooks/secret", ADMIN, data=views.SecretShown)
    async def secret(self, call: Call) -> Answer:
        """The shared secret."""
        # It is made when it is first looked at, so this is no reading transaction.
        return ok(views.secret_shown(await self._db.run(read_shared_secret, call.now)))

    @routes.post("/api/v1/webhooks/secret/rotate", ADMIN, body=Rotation, data=views.SecretShown)
    async def rotate(self, call: Call) -> Answer:
        """Replace the shared secret; for a while the old one signs as well."""
        overlap = call.body(Rotation).overlap_seconds
        if not 0 <= overlap <= LONGEST_OVERLAP:
            raise Invalid(overlap_seconds=[f"Must be from 0 to {LONGEST_OVERLAP} seconds."])
        return ok(views.secret_shown(await self._db.run(rotate_shared_secret, call.now, overlap)))
