"""The REST API of webhooks: endpoints, their validation and their test."""

from __future__ import annotations

import secrets
from datetime import datetime
from typing import Annotated, Any, Final
from urllib.parse import urlsplit

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType
from sqlalchemy import Connection
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime

from ctfd_twisted.db.database import Database
from ctfd_twisted.errors import Invalid
from ctfd_twisted.http.answers import Answer, done, ok
from ctfd_twisted.http.call import Call
from ctfd_twisted.http.described import invalid
from ctfd_twisted.http.gates import ADMIN
from ctfd_twisted.http.routes import Routes
from ctfd_twisted.webhooks import endpoints
from ctfd_twisted.webhooks.client import WebhookClient
from ctfd_twisted.webhooks.egress import Egress, checked_url, is_onion, with_token
from ctfd_twisted.webhooks.endpoints import Endpoint
from ctfd_twisted.webhooks.events import Ping, moment
from ctfd_twisted.webhooks.outbox import egress_of
from ctfd_twisted.webhooks.shared_secret import SharedSecret, read_shared_secret
from ctfd_twisted.webhooks.signatures import event_headers, plain_headers
from ctfd_twisted.webhooks.validation import checked_events, what_is_wrong
from ctfd_twisted.webhooks.views import EndpointShown, WebhookTest, endpoint_shown

#: Seconds that a name may take to resolve while an endpoint is registered.
_RESOLVE: Final = 5

Description = Annotated[str, Meta(max_length=1000)]


class NewEndpoint(Struct):
    """The body of a new endpoint."""

    url: str
    events: list[str]
    description: Description | None = None
    standard_webhooks: bool = False


class Changes(Struct):
    """The body of a change: what it leaves out stays."""

    url: str | UnsetType = UNSET
    events: list[str] | UnsetType = UNSET
    description: Description | UnsetType | None = UNSET
    standard_webhooks: bool | UnsetType = UNSET


class Removal(Struct):
    """The query of a removal."""

    force: bool = False


class WebhookApi:
    """``/api/v1/webhooks``: who is told what."""

    routes = Routes()

    def __init__(self, clock: IReactorTime, db: Database, client: WebhookClient) -> None:
        self._clock = clock
        self._db = db
        self._client = client

    @routes.get("/api/v1/webhooks", ADMIN, data=list[EndpointShown])
    async def all(self, _call: Call) -> Answer:
        """Every endpoint."""
        return ok([endpoint_shown(endpoint) for endpoint in await self._db.read(endpoints.list_endpoints)])

    @routes.post("/api/v1/webhooks", ADMIN, body=NewEndpoint, data=EndpointShown)
    async def create(self, call: Call) -> Answer:
        """Register an endpoint; it is pending until it is validated."""
        body = call.body(NewEndpoint)
        checked = await self._checked(call, {"url": body.url, "events": body.events})
        return ok(
            endpoint_shown(
                await self._db.run(
                    endpoints.create_endpoint,
                    call.now,
                    url=checked["url"],
                    events=checked["events"],
                    description=body.description,
                    standard_webhooks=body.standard_webhooks,
                )
            )
        )

    @routes.get("/api/v1/webhooks/<int:endpoint_id>", ADMIN, data=EndpointShown)
    async def show(self, _call: Call, endpoint_id: int) -> Answer:
        """One endpoint."""
        return ok(endpoint_shown(await self._db.read(endpoints.show_endpoint, endpoint_id)))

    @routes.patch("/api/v1/webhooks/<int:endpoint_id>", ADMIN, body=Changes, data=EndpointShown)
    async def change(self, call: Call, endpoint_id: int) -> Answer:
        """Change an endpoint; with another URL it is pending again."""
        given = {
            name: value for name, value in msgspec.structs.asdict(call.body(Changes)).items() if value is not UNSET
        }
        changes = given | await self._checked(call, given)
        return ok(endpoint_shown(await self._db.run(endpoints.change_endpoint, endpoint_id, changes)))

    @routes.delete("/api/v1/webhooks/<int:endpoint_id>", ADMIN, query=Removal, data=None)
    async def remove(self, call: Call, endpoint_id: int) -> Answer:
        """Remove an endpoint; ``force`` confirms that what was not delivered is lost."""
        await self._db.run(endpoints.remove_endpoint, endpoint_id, force=call.query(Removal).force)
        return done()

    @routes.post(
        "/api/v1/webhooks/<int:endpoint_id>/validate",
        ADMIN,
        data=EndpointShown,
        also=(invalid("The receiver did not prove it, and what was wrong."),),
    )
    async def validate(self, call: Call, endpoint_id: int) -> Answer:
        """Ask the receiver to prove that it knows the shared secret; then the endpoint is active."""
        endpoint, secret = await self._db.run(_endpoint_and_secret, call.now, endpoint_id)
        token = secrets.token_urlsafe(32)
        exchange = await self._client.get(
            with_token(endpoint.url, token), plain_headers(self._client.prefix), egress_of(call.competition)
        )
        wrong = exchange.problem or what_is_wrong(
            secret.signing, token, exchange.status, exchange.answer, complete=exchange.complete
        )
        if wrong is not None:
            kind, text = wrong.kind, wrong.text
            await self._db.run(endpoints.note_error, endpoint_id, endpoint.url, text)
            raise Invalid({kind: [text]})
        return ok(endpoint_shown(await self._db.run(endpoints.activate_endpoint, call.now, endpoint_id, endpoint.url)))

    @routes.post("/api/v1/webhooks/<int:endpoint_id>/test", ADMIN, data=WebhookTest)
    async def test(self, call: Call, endpoint_id: int) -> Answer:
        """Send a signed ``ping``, kept nowhere, and tell every step of it."""
        endpoint, secret = await self._db.run(_endpoint_and_secret, call.now, endpoint_id)
        ping = Ping(endpoint_id=endpoint_id, date=moment(call.now))
        headers = event_headers(
            self._client.prefix,
            secret.signing,
            event=ping.NAME,
            delivery_id=f"whd_{secrets.token_hex(16)}",
            timestamp=int(call.now.timestamp()),
            body=ping.body(),
            standard=endpoint.standard_webhooks,
        )
        exchange = await self._client.post(endpoint.url, headers, ping.body(), egress_of(call.competition), alone=True)
        tested: WebhookTest = {
            "status": exchange.status,
            "latency_ms": exchange.latency_ms,
            "answer": exchange.answer.decode("utf-8", "replace"),
            "error": None if exchange.problem is None else exchange.problem.text,
            "steps": list(exchange.steps),
            "request_headers": dict(exchange.request_headers),
            "request_body": ping.body().decode(),
        }
        return ok(tested)

    async def _checked(self, call: Call, given: dict[str, Any]) -> dict[str, Any]:
        """The url and events of *given* as they are stored; raises ``Invalid`` that names each that is wrong."""
        egress = egress_of(call.competition)
        checked: dict[str, Any] = {}
        errors: dict[str, list[str] | str] = {}
        for name, value in given.items():
            try:
                if name == "url":
                    checked[name] = checked_url(value, egress, onion=self._client.reach.onion)
                elif name == "events":
                    checked[name] = checked_events(value)
            except ValueError as error:
                errors[name] = [str(error)]
        if "url" in checked:
            refusal = await self._refusal(checked["url"], egress)
            if refusal is not None:
                errors["url"] = [refusal]
        if errors:
            raise Invalid(errors)
        return checked

    async def _refusal(self, url: str, egress: Egress) -> str | None:
        """Why the addresses of *url*'s host are refused; a name that has none (yet) is for the validation to tell."""
        host = urlsplit(url).hostname or ""
        if is_onion(host):
            return None  # such a name is nobody's business but Tor's
        addresses = await Deferred.fromCoroutine(self._client.reach.addresses(host)).addTimeout(
            _RESOLVE, self._clock, lambda *_: []
        )
        return next((refusal for address in addresses if (refusal := egress.refusal(address))), None)


def _endpoint_and_secret(conn: Connection, now: datetime, endpoint_id: int) -> tuple[Endpoint, SharedSecret]:
    return endpoints.show_endpoint(conn, endpoint_id), read_shared_secret(conn, now)
