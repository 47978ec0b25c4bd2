"""The REST API of webhooks: deliveries, the log that receivers catch up on, and the shared secret."""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType

from ctfd_twisted.db.database import Database
from ctfd_twisted.errors import Invalid
from ctfd_twisted.http.answers import Answer, ok
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.dates import iso
from ctfd_twisted.http.gates import ADMIN
from ctfd_twisted.http.pagination import asked_page
from ctfd_twisted.http.routes import Routes
from ctfd_twisted.webhooks import deliveries
from ctfd_twisted.webhooks.shared_secret import SharedSecret, read_shared_secret, rotate_shared_secret
from ctfd_twisted.webhooks.signatures import standard_secret
from ctfd_twisted.webhooks.views import shown

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

    @routes.get("/api/v1/webhooks/<int:endpoint_id>/deliveries", ADMIN)
    async def deliveries(self, call: Call, endpoint_id: int) -> Answer:
        """What was sent, and what is owed, the newest first."""
        state = call.query(Wanted).state
        page = asked_page(call.argument("page"), call.argument("per_page"), size=PAGE, most=LARGEST_PAGE)
        total, found = await self._db.read(
            deliveries.list_deliveries, endpoint_id, None if state is UNSET else state, page.offset, page.size
        )
        return ok([shown(delivery) for delivery in found], meta=page.meta(total))

    @routes.get("/api/v1/webhooks/<int:endpoint_id>/deliveries/<delivery_id>", ADMIN)
    async def delivery(self, _call: Call, endpoint_id: int, delivery_id: str) -> Answer:
        """One delivery: what is sent, and every attempt with what came back."""
        delivery, body, answers = await self._db.read(deliveries.show_delivery, endpoint_id, delivery_id)
        return ok(
            {
                **shown(delivery),
                "request_headers": answers[-1].request_headers if answers else None,
                "request_body": body.decode(),
                "answers": [shown(answer) for answer in answers],
            }
        )

    @routes.post("/api/v1/webhooks/<int:endpoint_id>/deliveries/<delivery_id>/redeliver", ADMIN)
    async def redeliver(self, call: Call, endpoint_id: int, delivery_id: str) -> Answer:
        """Send one delivery once more."""
        return ok(shown(await self._db.run(deliveries.redeliver, call.now, endpoint_id, delivery_id)))

    @routes.post("/api/v1/webhooks/<int:endpoint_id>/redeliver", ADMIN)
    async def redeliver_dead(self, call: Call, endpoint_id: int) -> Answer:
        """Send every dead delivery once more."""
        return ok({"redelivered": await self._db.run(deliveries.redeliver_dead, call.now, endpoint_id)})

    @routes.get("/api/v1/webhooks/events", ADMIN)
    async def events(self, call: Call) -> Answer:
        """The log after a number, without gaps: how a receiver that was away catches up."""
        after = call.query(Since).after
        last, found = await self._db.read(deliveries.events_after, min(after, _LAST))
        log = [{**shown(event), "body": msgspec.Raw(event.body)} for event in found]
        return ok(log, meta={"last": last, "more": bool(found) and found[-1].seq < last})

    @routes.get("/api/v1/webhooks/secret", ADMIN)
    async def secret(self, call: Call) -> Answer:
        """The shared secret."""
        # It is made when it is first looked at, so this is no reading transaction.
        return ok(_secret(await self._db.run(read_shared_secret, call.now)))

    @routes.post("/api/v1/webhooks/secret/rotate", ADMIN)
    async def rotate(self, call: Call) -> Answer:
        """Replace the shared secret; for a while the old one signs as well."""
        overlap = call.body(Rotation).overlap_seconds
        if not 0 <= overlap <= LONGEST_OVERLAP:
            raise Invalid(overlap_seconds=[f"Must be from 0 to {LONGEST_OVERLAP} seconds."])
        return ok(_secret(await self._db.run(rotate_shared_secret, call.now, overlap)))


def _secret(secret: SharedSecret) -> dict[str, Any]:
    return {
        "secret": secret.secret,
        "standard_webhooks_secret": standard_secret(secret.secret),
        "retired": [{"expires": iso(expires)} for _, expires in secret.retired],
    }
