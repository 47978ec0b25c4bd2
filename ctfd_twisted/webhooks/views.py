"""How stored things look in answers."""

from __future__ import annotations

from typing import Any, TypedDict

import msgspec

from ctfd_twisted.http.dates import iso
from ctfd_twisted.webhooks.deliveries import Answered, Delivery, Logged
from ctfd_twisted.webhooks.endpoints import Endpoint
from ctfd_twisted.webhooks.shared_secret import SharedSecret
from ctfd_twisted.webhooks.signatures import standard_secret
from ctfd_twisted.webhooks.trace import WebhookStep


class EndpointShown(TypedDict):
    """An endpoint; instants have an offset.

    ``state`` is pending, active or disabled; ``pending_deliveries`` counts what is owed to it.
    """

    id: int
    url: str
    events: list[str]
    description: str | None
    standard_webhooks: bool
    state: str
    created: str | None
    validated: str | None
    last_success: str | None
    last_error: str | None
    pending_deliveries: int


class DeliveryShown(TypedDict):
    """What is owed, or was sent, to one endpoint; ``next_attempt`` is null unless it is pending."""

    id: str
    seq: int
    event: str
    state: str
    attempts: int
    next_attempt: str | None
    last_status: int | None
    last_error: str | None
    latency_ms: int | None
    created: str | None


class AttemptShown(TypedDict):
    """One attempt: what was sent beside the body, and the beginning of what came back."""

    number: int
    started: str | None
    latency_ms: int
    request_headers: dict[str, str]
    status: int | None
    error: str | None
    answer: str


class DeliveryWithAttempts(DeliveryShown):
    """A delivery with its body, the headers of the last attempt, and every attempt."""

    request_headers: dict[str, str] | None
    request_body: str
    answers: list[AttemptShown]


class LoggedEvent(TypedDict):
    """One event; ``body`` is what was sent, by the event's name (docs/webhooks.md)."""

    seq: int
    event: str
    created: str | None
    body: dict[str, Any]


class LogMeta(TypedDict):
    """The number of the last event that there is, and whether more follow than were answered."""

    last: int
    more: bool


class RetiredSecret(TypedDict):
    """A secret that was replaced, and signs as well until it expires."""

    expires: str | None


class SecretShown(TypedDict):
    """The shared secret, also as the libraries of Standard Webhooks take it."""

    secret: str
    standard_webhooks_secret: str
    retired: list[RetiredSecret]


class Redelivered(TypedDict):
    """How many deliveries are sent once more."""

    redelivered: int


class WebhookTest(TypedDict):
    """What came of a test: the beginning of the answer, or why there was none, and every step."""

    status: int | None
    latency_ms: int
    answer: str
    error: str | None
    steps: list[WebhookStep]
    request_headers: dict[str, str]
    request_body: str


def endpoint_shown(endpoint: Endpoint) -> EndpointShown:
    """One endpoint."""
    return {
        "id": endpoint.id,
        "url": endpoint.url,
        "events": list(endpoint.events),
        "description": endpoint.description,
        "standard_webhooks": endpoint.standard_webhooks,
        "state": endpoint.state,
        "created": iso(endpoint.created),
        "validated": iso(endpoint.validated),
        "last_success": iso(endpoint.last_success),
        "last_error": endpoint.last_error,
        "pending_deliveries": endpoint.pending_deliveries,
    }


def delivery_shown(delivery: Delivery) -> DeliveryShown:
    """One delivery."""
    return {
        "id": delivery.id,
        "seq": delivery.seq,
        "event": delivery.event,
        "state": delivery.state,
        "attempts": delivery.attempts,
        "next_attempt": iso(delivery.next_attempt),
        "last_status": delivery.last_status,
        "last_error": delivery.last_error,
        "latency_ms": delivery.latency_ms,
        "created": iso(delivery.created),
    }


def delivery_with_attempts(delivery: Delivery, body: bytes, made: tuple[Answered, ...]) -> DeliveryWithAttempts:
    """One delivery with all that was *made* of it, the oldest first."""
    answers: list[AttemptShown] = [
        {
            "number": answer.number,
            "started": iso(answer.started),
            "latency_ms": answer.latency_ms,
            "request_headers": answer.request_headers,
            "status": answer.status,
            "error": answer.error,
            "answer": answer.answer,
        }
        for answer in made
    ]
    return {
        **delivery_shown(delivery),
        "request_headers": made[-1].request_headers if made else None,
        "request_body": body.decode(),
        "answers": answers,
    }


def event_shown(event: Logged) -> LoggedEvent:
    """One event of the log."""
    body: Any = msgspec.Raw(event.body)  # it goes out as the JSON that it is
    return {"seq": event.seq, "event": event.event, "created": iso(event.created), "body": body}


def secret_shown(secret: SharedSecret) -> SecretShown:
    """The shared secret."""
    return {
        "secret": secret.secret,
        "standard_webhooks_secret": standard_secret(secret.secret),
        "retired": [{"expires": iso(expires)} for _, expires in secret.retired],
    }
