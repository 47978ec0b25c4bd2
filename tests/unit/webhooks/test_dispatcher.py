"""What receivers get, and when, with a clock that stands still and receivers in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

import msgspec
import pytest
import stripe
from cryptography.fernet import Fernet
from sqlalchemy import event, select, update
from twisted.internet.task import Clock
from twisted.logger import capturedLogs

from ctfd_twisted.db.database import WAITING, Database, start_inline
from ctfd_twisted.db.engine import open_engines
from ctfd_twisted.db.notices import Bus
from ctfd_twisted.mail.sealing import Sealer
from ctfd_twisted.mail.tables import outbox
from ctfd_twisted.schema import metadata
from ctfd_twisted.settings import MailServer
from ctfd_twisted.testing import result_of
from ctfd_twisted.testing.builders import an_admin
from ctfd_twisted.testing.webhooks import URL, MemoryReach, Receiver, SilentAgent, an_endpoint
from ctfd_twisted.webhooks import store
from ctfd_twisted.webhooks.alarm import MailAlarm
from ctfd_twisted.webhooks.client import WebhookClient
from ctfd_twisted.webhooks.deliveries import redeliver_dead
from ctfd_twisted.webhooks.dispatcher import Dispatcher
from ctfd_twisted.webhooks.endpoints import activate_endpoint
from ctfd_twisted.webhooks.events import EXAMPLES, Event
from ctfd_twisted.webhooks.shared_secret import read_shared_secret, rotate_shared_secret
from ctfd_twisted.webhooks.tables import attempts, deliveries

SEALER = Sealer(Fernet.generate_key())
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


class World:
    """A database, a dispatcher and a receiver."""

    server: MailServer | None = MailServer("mail.example", 25, "ctf@example.org")

    def __init__(self) -> None:
        self.clock = Clock()
        self.clock.advance(NOON.timestamp())
        self.db = Database(open_engines("sqlite://"), Bus(), write=start_inline, read=start_inline)
        metadata.create_all(self.db.engines.write_engine)
        self.reach = MemoryReach()
        self.receiver = Receiver(lambda: "")
        self.reach.serve("receiver.example", self.receiver.app.resource())
        self.client = WebhookClient(self.clock, self.reach, "Service-Webhook")
        self.dispatcher = self.a_dispatcher("node")
        self.secret = self.run(read_shared_secret, self.now).secret

    def a_dispatcher(self, node: str) -> Dispatcher:
        alarm = MailAlarm(SEALER, self.server)
        return Dispatcher(self.clock, self.db, self.client, alarm, node, chance=lambda: 0.5)

    @property
    def now(self) -> datetime:
        return datetime.fromtimestamp(self.clock.seconds(), UTC)

    def run(self, fn: Any, *args: Any, **kwargs: Any) -> Any:
        return result_of(self.db.run(fn, *args, **kwargs))

    def endpoint(self, **columns: Any) -> int:
        return int(self.run(an_endpoint, **columns))

    def happen(self, *events: Event) -> None:
        self.run(store.emit, self.now, *events)

    def answers(self, *statuses: int) -> None:
        """Let the receiver answer its next requests with *statuses*, and later ones with the last."""
        left = list(statuses)

        def answer(request: Any) -> bytes:
            request.setResponseCode(left[0] if len(left) == 1 else left.pop(0))
            return b""

        self.receiver.answer = answer

    def fail_once(self, beginning: str) -> None:
        """Let the next statement of this *beginning* fail."""
        failing = [True]

        def look(_conn: Any, _cursor: Any, statement: str, *_: Any) -> None:
            if failing and statement.startswith(beginning):
                failing.clear()
                raise RuntimeError("the disk is full")

        event.listen(self.db.engines.write_engine, "before_cursor_execute", look)

    def seconds(self, seconds: int) -> None:
        self.clock.pump([1.0] * seconds)

    def states(self) -> list[str]:
        return list(self.run(lambda conn: list(conn.execute(select(deliveries.c.state).order_by("seq")).scalars())))


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    world.dispatcher.startService()
    yield world
    if world.dispatcher.running:
        stopped = world.dispatcher.stopService()
        world.clock.advance(10)
        result_of(stopped)
    world.db.close()


@pytest.fixture
def logged() -> Iterator[Sequence[Any]]:
    with capturedLogs() as seen:
        yield seen


def test_every_event_is_sent_as_it_is_documented_and_signed(world: World) -> None:
    world.endpoint()
    world.happen(*EXAMPLES)
    assert [one.event for one in world.receiver.events] == [example.NAME for example in EXAMPLES]
    for one, example in zip(world.receiver.events, EXAMPLES, strict=True):
        assert one.body == example.body()
        assert msgspec.json.decode(one.body, type=type(example)) == example
        signature = one.headers["service-webhook-signature"]
        assert signature.startswith(f"t={int(NOON.timestamp())},v1=")
        stripe.WebhookSignature.verify_header(one.body.decode(), signature, world.secret, None)
        expected = {
            "host": "receiver.example",
            "user-agent": "Service-Webhook",
            "content-length": str(len(one.body)),
            "accept": "*/*",
            "accept-encoding": "gzip, deflate",
            "content-type": "application/json",
            "service-webhook-event": example.NAME,
            "service-webhook-signature": signature,
            "service-webhook-id": one.id,
        }
        # In memory, connections are never kept, and the client says so.
        assert {**one.headers, "connection": ""} == {**expected, "connection": ""}
    assert len({one.id for one in world.receiver.events}) == len(EXAMPLES)
    assert set(world.states()) == {"delivered"}


def test_standard_webhooks_headers_come_where_they_are_asked_for(world: World) -> None:
    world.endpoint(standard_webhooks=True)
    world.happen(EXAMPLES[0])
    (one,) = world.receiver.events
    assert one.headers["webhook-id"] == one.id
    assert one.headers["webhook-timestamp"] == str(int(NOON.timestamp()))
    assert one.headers["webhook-signature"].startswith("v1,")


def test_during_the_overlap_requests_carry_both_signatures(world: World) -> None:
    world.endpoint()
    new = world.run(rotate_shared_secret, world.now, 60).secret
    world.happen(EXAMPLES[0])
    world.seconds(60)
    world.happen(EXAMPLES[0])
    first, second = (one.headers["service-webhook-signature"] for one in world.receiver.events)
    assert (first.count("v1="), second.count("v1=")) == (2, 1)
    for secret in (new, world.secret):
        stripe.WebhookSignature.verify_header(EXAMPLES[0].body().decode(), first, secret, None)


def test_events_arrive_in_their_order(world: World) -> None:
    world.endpoint()
    for _ in range(5):
        world.happen(*EXAMPLES)
    assert [one.body for one in world.receiver.events] == [example.body() for example in EXAMPLES] * 5


def test_what_was_committed_before_the_start_is_sent_at_the_start(world: World) -> None:
    result_of(world.dispatcher.stopService())
    world.endpoint()
    world.happen(EXAMPLES[0])
    assert world.receiver.events == []
    again = world.a_dispatcher("next")
    again.startService()
    assert len(world.receiver.events) == 1
    result_of(again.stopService())


def test_a_rolled_back_change_sends_nothing(world: World) -> None:
    world.endpoint()

    def fail(conn: Any) -> None:
        store.emit(conn, world.now, EXAMPLES[0])
        raise ValueError("no such account")

    with pytest.raises(ValueError, match="no such account"):
        world.run(fail)
    world.seconds(2)
    assert world.receiver.events == []


def test_a_retry_has_the_same_id_and_body_and_a_new_signature(world: World) -> None:
    world.endpoint()
    world.answers(500, 500, 200)
    world.happen(EXAMPLES[0])
    world.seconds(4)
    assert len(world.receiver.events) == 1
    world.seconds(2)
    assert len(world.receiver.events) == 2
    world.seconds(31)
    assert len(world.receiver.events) == 3
    assert len({(one.id, one.body) for one in world.receiver.events}) == 1
    assert len({one.headers["service-webhook-signature"] for one in world.receiver.events}) == 3
    assert world.states() == ["delivered"]


def test_a_failure_does_not_hold_up_later_events(world: World) -> None:
    world.endpoint()
    world.answers(500, 200)
    world.happen(*EXAMPLES)
    assert [one.event for one in world.receiver.events] == [example.NAME for example in EXAMPLES]
    world.seconds(6)
    assert world.receiver.events[-1].event == EXAMPLES[0].NAME


def test_a_slow_receiver_holds_up_nobody_else(world: World) -> None:
    silent = SilentAgent()
    world.reach.hosts["slow.example"] = silent
    world.endpoint(url="http://slow.example/")
    world.endpoint()
    world.happen(*EXAMPLES)
    assert len(world.receiver.events) == len(EXAMPLES)
    assert silent.asked == 1
    world.seconds(10)
    assert (silent.asked, silent.given_up) == (2, 1)


def test_sixty_four_are_under_way_in_all(world: World) -> None:
    silent = SilentAgent()
    for number in range(70):
        world.reach.hosts[f"{number}.example"] = silent
        world.endpoint(url=f"http://{number}.example/")
    world.happen(EXAMPLES[0])
    assert silent.asked == 64
    world.seconds(10)
    assert silent.asked == 70


def test_an_open_circuit_is_probed_one_at_a_time(world: World) -> None:
    silent = SilentAgent()
    world.reach.hosts["slow.example"] = silent
    world.endpoint(url="http://slow.example/", failures=5)
    world.happen(*EXAMPLES)
    for probes in range(1, 6):
        assert silent.asked - silent.given_up == 1
        assert silent.asked == probes
        world.seconds(10)


def test_gone_stops_everything_to_an_endpoint(world: World) -> None:
    world.endpoint()
    world.answers(410)
    world.happen(*EXAMPLES)
    world.seconds(10)
    assert len(world.receiver.events) == 1
    assert world.states() == ["dead", *["pending"] * 4]


def test_the_admins_are_told_of_an_endpoint_that_is_disabled(world: World) -> None:
    world.endpoint()
    world.run(partial(an_admin, email="root@example.org"))
    world.run(partial(an_admin, email="gone@example.org", banned=True))
    world.run(partial(an_admin, email=None))
    world.run(partial(an_admin, email="ada@example.org", type="user"))
    world.answers(410)
    world.happen(EXAMPLES[0])
    (letter,) = world.run(lambda conn: [tuple(row) for row in conn.execute(select(outbox.c.recipient, outbox.c.body))])
    assert letter[0] == "root@example.org"
    text = SEALER.open(letter[1])
    assert text is not None
    assert URL in text
    assert "410" in text


def test_without_mail_the_state_alone_tells(world: World) -> None:
    world.server = None
    result_of(world.dispatcher.stopService())
    again = world.a_dispatcher("next")
    again.startService()
    world.endpoint()
    world.run(an_admin)
    world.answers(410)
    world.happen(EXAMPLES[0])
    assert world.states() == ["dead"]
    assert world.run(lambda conn: conn.execute(select(outbox.c.id)).all()) == []
    result_of(again.stopService())


def test_the_dead_are_sent_again_when_an_admin_says_so(world: World) -> None:
    made = world.endpoint()
    world.happen(EXAMPLES[0])
    world.run(lambda conn: conn.execute(update(deliveries).values(state="dead")).rowcount)
    assert world.run(redeliver_dead, world.now, made) == 1
    assert [one.id for one in world.receiver.events] == [world.receiver.events[0].id] * 2


def test_what_a_receiver_answers_is_kept(world: World) -> None:
    world.endpoint()
    world.reach.hosts["receiver.example"] = None
    world.happen(EXAMPLES[0])
    kept = world.run(lambda conn: tuple(conn.execute(select(attempts.c.status, attempts.c.error)).one()))
    assert kept[0] is None
    assert "connection failed" in kept[1]


def test_stopping_waits_for_what_is_under_way(world: World) -> None:
    silent = SilentAgent()
    world.reach.hosts["slow.example"] = silent
    world.endpoint(url="http://slow.example/")
    world.happen(*EXAMPLES)
    ended: list[bool] = []
    world.dispatcher.stopService().addCallback(lambda _: ended.append(world.reach.closed))
    assert ended == []
    world.clock.advance(10)
    assert ended == [True]
    assert silent.asked == 1
    claimed = world.run(lambda conn: conn.execute(select(deliveries.c.claimed_by)).scalars().all())
    assert claimed == [None] * len(EXAMPLES)


def test_an_error_of_the_database_costs_a_second(world: World, logged: Sequence[Any]) -> None:
    world.endpoint()
    world.fail_once("UPDATE ctfp_webhook_deliveries SET claimed_by")
    world.happen(EXAMPLES[0])
    assert world.receiver.events == []
    assert any("log_failure" in one for one in logged)
    world.seconds(1)
    assert len(world.receiver.events) == 1


def test_an_outcome_that_is_not_recorded_is_sent_again_with_the_same_id(world: World) -> None:
    world.endpoint()
    world.fail_once("INSERT INTO ctfp_webhook_attempts")
    world.happen(EXAMPLES[0])
    world.seconds(16)
    first, second = world.receiver.events
    assert first.id == second.id
    assert world.states() == ["delivered"]


def test_an_endpoint_that_becomes_active_gets_what_it_is_owed(world: World) -> None:
    made = world.endpoint()
    world.answers(410, 200)
    world.happen(EXAMPLES[0], EXAMPLES[1])
    world.run(activate_endpoint, world.now, made, URL)
    assert world.states() == ["dead", "delivered"]


def test_a_database_that_is_away_is_not_told_of_every_second(world: World, logged: Sequence[Any]) -> None:
    world.endpoint()
    world.clock.advance(1)
    before = len(logged)
    world.db.writes.waiting = world.db.reads.waiting = WAITING
    world.clock.pump([1] * 10)
    world.db.bus.publish({"webhooks"})
    assert [one["log_format"] for one in logged[before:]] == []
    world.db.writes.waiting = world.db.reads.waiting = 0
    world.happen(EXAMPLES[0])
    assert len(world.receiver.events) == 1
