"""What else is listed (content, settings, files, hills, webhooks) makes as many statements for thirty as for two."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from sqlalchemy import Connection

from ctfd_twisted.challenges.tables import files
from ctfd_twisted.competition.tables import config
from ctfd_twisted.content.tables import comments, notifications, pages
from ctfd_twisted.db.notices import EVERYTHING, touch
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.koth.tables import ticks, voids
from ctfd_twisted.testing import MemoryPlatform
from ctfd_twisted.testing.builders import LONG_AGO, a_user, an_award
from ctfd_twisted.testing.hills import a_hill
from ctfd_twisted.testing.statements import cost, small_and_large
from ctfd_twisted.webhooks.tables import attempts, deliveries, endpoints, events

HILL = "/api/v1/koth/1"
HOOK = "/api/v1/webhooks/1"
OPEN = ["/api/v1/notifications", "/api/v1/koth", HILL, f"{HILL}/reigns?per_page=100", f"{HILL}/ticks?per_page=100"]
ADMINS = [
    *(f"/api/v1/{part}" for part in ("pages", "pages/1", "comments?per_page=100", "configs", "files", "webhooks")),
    f"{HILL}/checks?per_page=100",
    f"{HILL}/void",
    HOOK,
    f"{HOOK}/deliveries?per_page=100",
    f"{HOOK}/deliveries/whd_0",
    "/api/v1/webhooks/events",
]


def fill(conn: Connection, count: int) -> None:
    """Add *count* of everything, and of everything that hangs on the first of each."""
    endpoint = {
        "url": "http://example.com/", "events": ["user.created"], "standard_webhooks": False, "state": "active",
        "created": LONG_AGO, "failures": 0,
    }  # fmt: skip
    for number in range(count):
        user, due = a_user(conn), LONG_AGO + timedelta(minutes=number)
        insert_row(conn, pages, {"title": "page", "route": f"page{number}", "content": "text"})
        insert_row(conn, files, {"type": "page", "page_id": 1, "location": f"{number}/a.txt"})
        insert_row(conn, notifications, {"title": "title", "content": "text", "date": LONG_AGO, "user_id": user})
        insert_row(conn, comments, {"type": "user", "content": "text", "user_id": user, "author_id": user})
        insert_row(conn, config, {"key": f"key{number}", "value": "value"})
        a_hill(conn)
        held = {"tick": number, "due": due, "outcome": "held", "points": 10, "user_id": user, "reign": number}
        insert_row(conn, ticks, {**held, "challenge_id": 1, "award_id": an_award(conn, user, 10, date=due)})
        void = {"from_tick": 0, "to_tick": number, "reason": "r", "author": "a", "date": due, "challenge_id": 1}
        insert_row(conn, voids, void)
        insert_row(conn, endpoints, endpoint)
        event = {"seq": number + 1, "event": "user.created", "body": b"{}", "created": LONG_AGO}
        conn.execute(events.insert().values(event))
        owed = {"endpoint_id": 1, "seq": number + 1, "state": "delivered", "attempts": 1, "created": LONG_AGO}
        conn.execute(deliveries.insert().values(id=f"whd_{number}", **owed))
        made = {"number": number, "started": due, "latency_ms": 1, "request_headers": [], "answer": b""}
        insert_row(conn, attempts, {**made, "delivery_id": "whd_0"})
    touch(conn, EVERYTHING)


def event(count: int) -> MemoryPlatform:
    """An event with so many of everything that is over, so that players see every tick."""
    platform = MemoryPlatform().setup()
    platform.configure(end=int(platform.now.timestamp()) - 60, view_after_ctf=True)
    platform.admin()
    platform.player("ann")
    platform.run(a_hill)
    platform.run(fill, count)
    return platform


@pytest.fixture(scope="module")
def platforms() -> Iterator[list[MemoryPlatform]]:
    """A small event and a large one."""
    yield from small_and_large(event)


@pytest.mark.parametrize("path", OPEN)
def test_what_players_ask_for_costs_the_same_for_many(platforms: list[MemoryPlatform], path: str) -> None:
    few, many = (cost(platform, platform.player("ann"), path) for platform in platforms)
    assert few == many <= 30


@pytest.mark.parametrize("path", OPEN + ADMINS)
def test_what_administrators_ask_for_costs_the_same_for_many(platforms: list[MemoryPlatform], path: str) -> None:
    few, many = (cost(platform, platform.admin(), path) for platform in platforms)
    assert few == many <= 30
