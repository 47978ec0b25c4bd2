"""The REST API as an admin's client sees it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
import stripe
from twisted.application.service import IService
from twisted.internet.defer import Deferred

from ctfd_twisted.competition.store import read_secret
from ctfd_twisted.testing import Client, MemoryPlatform, Reply, result_of
from ctfd_twisted.testing.webhooks import URL, MemoryReach, Receiver
from ctfd_twisted.webhooks import store
from ctfd_twisted.webhooks.api import WebhookApi
from ctfd_twisted.webhooks.client import WebhookClient
from ctfd_twisted.webhooks.dispatcher import Dispatcher
from ctfd_twisted.webhooks.egress import Egress
from ctfd_twisted.webhooks.events import EVENT_NAMES, EXAMPLES
from ctfd_twisted.webhooks.signatures import standard_secret

HOOKS = "/api/v1/webhooks"
BODY = {"url": URL, "events": ["user.created", "team.created"]}


@pytest.fixture
def admin(platform: MemoryPlatform) -> Client:
    return platform.admin()


@pytest.fixture
def receiver(platform: MemoryPlatform, admin: Client) -> Receiver:
    receiver = Receiver(lambda: str(admin.get(f"{HOOKS}/secret").data["secret"]))
    platform.webhook_reach.serve("receiver.example", receiver.app.resource())
    return receiver


@pytest.fixture
def dispatcher(platform: MemoryPlatform) -> Iterator[Dispatcher]:
    services: list[IService] = list(platform.platform.services)
    (found,) = [service for service in services if isinstance(service, Dispatcher)]
    found.startService()
    yield found
    result_of(found.stopService())


def made(admin: Client, **body: Any) -> str:
    return f"{HOOKS}/{admin.post(HOOKS, {**BODY, **body}).data['id']}"


def active(admin: Client, **body: Any) -> str:
    path = made(admin, **body)
    assert admin.post(f"{path}/validate").data["state"] == "active"
    return path


def refused(reply: Reply) -> Any:
    assert reply.status == 400
    assert reply.json["success"] is False
    return reply.errors


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", ""),
        ("POST", ""),
        ("GET", "/1"),
        ("PATCH", "/1"),
        ("DELETE", "/1"),
        ("POST", "/1/validate"),
        ("POST", "/1/test"),
        ("GET", "/1/deliveries"),
        ("GET", "/1/deliveries/whd_1"),
        ("POST", "/1/deliveries/whd_1/redeliver"),
        ("POST", "/1/redeliver"),
        ("GET", "/secret"),
        ("POST", "/secret/rotate"),
        ("GET", "/events"),
    ],
)
def test_webhooks_are_the_admins_and_nothing_is_found_where_nothing_is(
    platform: MemoryPlatform, admin: Client, method: str, path: str
) -> None:
    assert platform.player("ada").request(method, HOOKS + path, json={}).status == 403
    if path.startswith("/1"):
        assert admin.request(method, HOOKS + path, json={}).status == 404


def test_a_new_endpoint_is_pending_with_every_field(admin: Client) -> None:
    data = admin.post(HOOKS, {**BODY, "description": "bot"}).data
    assert data == {
        "id": data["id"],
        "url": URL,
        "events": BODY["events"],
        "description": "bot",
        "standard_webhooks": False,
        "state": "pending",
        "created": "2026-03-14T15:00:00+00:00",
        "validated": None,
        "last_success": None,
        "last_error": None,
        "pending_deliveries": 0,
    }
    assert admin.get(HOOKS).data == [data]
    assert admin.get(f"{HOOKS}/{data['id']}").data == data


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({}, {"url", "events"}),
        ({"url": 7, "events": "user.created"}, {"url", "events"}),
        ({"url": "ftp://receiver.example/", "events": []}, {"url", "events"}),
        ({**BODY, "events": ["solved"]}, {"events"}),
        ({**BODY, "events": ["user.created", 7]}, {"events"}),
        ({**BODY, "url": None}, {"url"}),
        ({**BODY, "url": "http://169.254.169.254/"}, {"url"}),
        ({**BODY, "url": "http://inside.example/"}, {"url"}),
        ({**BODY, "standard_webhooks": "perhaps"}, {"standard_webhooks"}),
        ({**BODY, "description": "x" * 1001}, {"description"}),
    ],
)
def test_every_wrong_field_is_named_and_nothing_is_stored(
    platform: MemoryPlatform, admin: Client, body: dict[str, Any], fields: set[str]
) -> None:
    platform.webhook_reach.names["inside.example"] = ["93.184.215.14", "fe80::1"]
    errors = refused(admin.post(HOOKS, body))
    assert set(errors) == fields
    assert all(isinstance(texts, list) for texts in errors.values())
    assert admin.get(HOOKS).data == []


def test_the_settings_say_where_webhooks_may_go(platform: MemoryPlatform, admin: Client) -> None:
    made(admin, url="http://127.0.0.1:9000/")
    platform.configure(egress_private=False, egress_deny="93.184.0.0/16")
    platform.webhook_reach.names["named.example"] = ["93.184.215.14"]
    assert "egress_private" in refused(admin.post(HOOKS, {**BODY, "url": "http://127.0.0.1:9000/"}))["url"][0]
    assert "egress_deny" in refused(admin.post(HOOKS, {**BODY, "url": "http://named.example/"}))["url"][0]


def test_a_validated_endpoint_is_active(admin: Client, receiver: Receiver) -> None:
    path = made(admin, url=f"{URL}?kind=ctf")
    data = admin.post(f"{path}/validate").data
    assert (data["state"], data["validated"]) == ("active", "2026-03-14T15:00:00+00:00")
    (asked,) = receiver.received
    assert asked.method == "GET"
    query = asked.uri.partition("?")[2]
    assert query.startswith("kind=ctf&token=")
    assert len(query.partition("token=")[2]) >= 32
    assert asked.headers["user-agent"] == "Service-Webhook"
    admin.post(f"{path}/validate")
    assert receiver.received[0].uri != receiver.received[1].uri


def test_without_a_proof_an_endpoint_stays_pending_and_the_reason_is_told(
    platform: MemoryPlatform, admin: Client, receiver: Receiver
) -> None:
    path = made(admin)
    receiver.secret = lambda: "another"
    text = refused(admin.post(f"{path}/validate"))["digest"][0]
    data = admin.get(path).data
    assert (data["state"], data["last_error"]) == ("pending", text)
    platform.webhook_reach.hosts["receiver.example"] = None
    assert set(refused(admin.post(f"{path}/validate"))) == {"connection"}
    del platform.webhook_reach.hosts["receiver.example"]
    assert set(refused(admin.post(f"{path}/validate"))) == {"dns"}


def test_another_url_must_be_validated_again(admin: Client, receiver: Receiver) -> None:
    path = active(admin)
    assert admin.patch(path, {"description": "x", "standard_webhooks": True}).data["state"] == "active"
    data = admin.patch(path, {"url": f"{URL}/2"}).data
    assert (data["state"], data["validated"], data["description"]) == ("pending", None, "x")
    assert admin.patch(path, {"description": None}).data["description"] is None
    assert set(refused(admin.patch(path, {"url": "x", "events": []}))) == {"url", "events"}
    assert len(receiver.received) == 1


def test_removing_needs_a_confirmation_where_something_was_not_delivered(
    platform: MemoryPlatform, admin: Client, receiver: Receiver
) -> None:
    path = active(admin)
    platform.run(store.emit, platform.now, EXAMPLES[0])
    assert admin.get(path).data["pending_deliveries"] == 1
    assert "force" in refused(admin.delete(path))
    assert admin.delete(f"{path}?force=true").json == {"success": True}
    assert admin.get(path).status == 404
    assert len(receiver.received) == 1


def test_a_test_sends_a_signed_ping_and_tells_every_step(
    platform: MemoryPlatform, admin: Client, receiver: Receiver
) -> None:
    path = made(admin, standard_webhooks=True)
    data = admin.post(f"{path}/test").data
    assert (data["status"], data["answer"], data["error"]) == (200, "thank you", None)
    assert isinstance(data["latency_ms"], int)
    assert [(step["step"], step["ok"]) for step in data["steps"]] == [
        ("resolve", True),
        ("connect", True),
        ("request", True),
        ("answer", True),
    ]
    (ping,) = receiver.events
    assert ping.event == "ping"
    assert ping.body.decode() == data["request_body"]
    secret = admin.get(f"{HOOKS}/secret").data["secret"]
    stripe.WebhookSignature.verify_header(ping.body.decode(), ping.headers["service-webhook-signature"], secret, None)
    assert ping.headers["webhook-id"] == ping.id
    assert admin.get(f"{HOOKS}/events").data == []
    platform.webhook_reach.hosts["receiver.example"] = None
    failed = admin.post(f"{path}/test").data
    assert (failed["status"], failed["steps"][-1]["ok"]) == (None, False)
    assert failed["error"] == failed["steps"][-1]["detail"]


@pytest.mark.usefixtures("dispatcher")
def test_the_secret_is_made_on_the_first_start(platform: MemoryPlatform) -> None:
    assert platform.run(read_secret, "webhooks") is not None


@pytest.mark.usefixtures("dispatcher")
def test_deliveries_show_what_was_sent_and_what_came_back(
    platform: MemoryPlatform, admin: Client, receiver: Receiver
) -> None:
    path = active(admin)
    platform.run(store.emit, platform.now, *EXAMPLES[:2])
    listed = admin.get(f"{path}/deliveries")
    assert [one["event"] for one in listed.data] == ["team.created", "user.created"]
    assert listed.json["meta"]["pagination"]["total"] == 2
    first = listed.data[1]
    assert {**first, "id": "", "latency_ms": 0} == {
        "id": "",
        "seq": 1,
        "event": "user.created",
        "state": "delivered",
        "attempts": 1,
        "next_attempt": None,
        "last_status": 200,
        "last_error": None,
        "latency_ms": 0,
        "created": "2026-03-14T15:00:00+00:00",
    }
    whole = admin.get(f"{path}/deliveries/{first['id']}").data
    assert whole["request_body"].encode() == EXAMPLES[0].body() == receiver.events[0].body
    assert whole["request_headers"]["Service-Webhook-Id"] == first["id"] == receiver.events[0].id
    (answer,) = whole["answers"]
    assert (answer["number"], answer["status"], answer["answer"], answer["error"]) == (1, 200, "thank you", None)
    assert admin.get(path).data["last_success"] is not None


@pytest.mark.usefixtures("dispatcher")
def test_deliveries_are_filtered_and_paged(platform: MemoryPlatform, admin: Client, receiver: Receiver) -> None:
    path = active(admin)
    receiver.answer = lambda request: request.setResponseCode(500) or b""
    platform.run(store.emit, platform.now, *EXAMPLES[:1] * 3)
    page = admin.get(f"{path}/deliveries?state=pending&page=2&per_page=2")
    assert len(page.data) == 1
    assert page.data[0]["last_error"] == "The receiver answered 500."
    assert page.json["meta"]["pagination"]["pages"] == 2
    assert admin.get(f"{path}/deliveries?state=dead").data == []
    assert "permitted" in refused(admin.get(f"{path}/deliveries?state=lost"))["state"]


@pytest.mark.usefixtures("dispatcher")
def test_deliveries_are_sent_once_more(platform: MemoryPlatform, admin: Client, receiver: Receiver) -> None:
    path = active(admin)
    platform.run(store.emit, platform.now, EXAMPLES[0])
    (one,) = admin.get(f"{path}/deliveries").data
    assert admin.post(f"{path}/deliveries/{one['id']}/redeliver").data["id"] == one["id"]
    assert [event.id for event in receiver.events] == [one["id"]] * 2
    assert admin.post(f"{path}/redeliver").data == {"redelivered": 0}


def test_a_delivery_that_was_never_tried_has_no_headers_yet(
    platform: MemoryPlatform, admin: Client, receiver: Receiver
) -> None:
    path = active(admin)
    platform.run(store.emit, platform.now, EXAMPLES[0])
    (one,) = admin.get(f"{path}/deliveries").data
    whole = admin.get(f"{path}/deliveries/{one['id']}").data
    assert (whole["request_headers"], whole["answers"], whole["state"]) == (None, [], "pending")
    assert len(receiver.events) == 0


def test_a_receiver_that_was_away_catches_up(platform: MemoryPlatform, admin: Client) -> None:
    platform.run(store.emit, platform.now, *EXAMPLES)
    whole = admin.get(f"{HOOKS}/events")
    assert [(one["seq"], one["event"]) for one in whole.data] == list(enumerate(EVENT_NAMES, 1))
    assert whole.data[0]["body"] == msgspec.json.decode(EXAMPLES[0].body())
    assert whole.json["meta"] == {"last": 5, "more": False}
    assert [one["seq"] for one in admin.get(f"{HOOKS}/events?after=3").data] == [4, 5]
    assert admin.get(f"{HOOKS}/events?after=5").data == []
    assert admin.get(f"{HOOKS}/events?after={2**31 - 1}").data == []
    assert admin.get(f"{HOOKS}/events?after={10**40}").errors == {"after": "value is not a valid integer"}
    assert set(refused(admin.get(f"{HOOKS}/events?after=x"))) == {"after"}


def test_the_secret_is_shown_and_rotated(platform: MemoryPlatform, admin: Client) -> None:
    first = admin.get(f"{HOOKS}/secret").data
    assert first == {
        "secret": first["secret"],
        "standard_webhooks_secret": standard_secret(first["secret"]),
        "retired": [],
    }
    second = admin.post(f"{HOOKS}/secret/rotate", {}).data
    assert second["secret"] != first["secret"]
    assert second["retired"] == [{"expires": "2026-03-15T15:00:00+00:00"}]
    assert admin.get(f"{HOOKS}/secret").data == second
    assert admin.post(f"{HOOKS}/secret/rotate", {"overlap_seconds": 0}).data["retired"] == []
    for wrong in (-1, 7 * 86_400 + 1, "soon"):
        assert set(refused(admin.post(f"{HOOKS}/secret/rotate", {"overlap_seconds": wrong}))) == {"overlap_seconds"}
    platform.clock.advance(86_400)
    assert admin.get(f"{HOOKS}/secret").data["retired"] == []


@pytest.mark.usefixtures("dispatcher")
def test_a_disabled_endpoint_says_why_and_comes_back_by_validation(
    platform: MemoryPlatform, admin: Client, receiver: Receiver
) -> None:
    path = active(admin)
    receiver.answer = lambda request: request.setResponseCode(410) or b""
    platform.run(store.emit, platform.now, *EXAMPLES[:2])
    data = admin.get(path).data
    assert (data["state"], data["pending_deliveries"]) == ("disabled", 1)
    assert "410" in data["last_error"]
    receiver.answer = lambda _: b""
    assert admin.post(f"{path}/validate").data["state"] == "active"
    assert admin.get(path).data["pending_deliveries"] == 0
    assert admin.post(f"{path}/redeliver").data == {"redelivered": 1}
    assert [one["state"] for one in admin.get(f"{path}/deliveries").data] == ["delivered", "delivered"]


def test_a_name_that_does_not_resolve_in_time_is_left_to_the_validation(platform: MemoryPlatform) -> None:
    class Slow(MemoryReach):
        async def addresses(self, _host: str) -> list[str]:
            await Deferred[None]()
            return []

    clock = platform.clock
    api = WebhookApi(clock, platform.db, WebhookClient(clock, Slow(), "Service-Webhook"))
    waiting = Deferred.fromCoroutine(api._refusal(URL, Egress()))
    clock.advance(4)
    assert not waiting.called
    clock.advance(1)
    assert result_of(waiting) is None
