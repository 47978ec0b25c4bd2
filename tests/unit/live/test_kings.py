"""Listeners are told that a hill has changed hands, where all of them may know."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, update

from ctfd_twisted.accounts.tables import users
from ctfd_twisted.challenges.tables import challenges, modules
from ctfd_twisted.competition.store import write_config
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.koth.tables import hills
from ctfd_twisted.live.feed import Feed
from ctfd_twisted.live.hub import Hub
from ctfd_twisted.live.news_store import read_kings
from ctfd_twisted.testing.builders import a_challenge, a_user
from ctfd_twisted.testing.hills import a_hill
from tests.unit.koth.arena import Arena
from tests.unit.live.ear import PING, Ear

NOW = datetime(2026, 3, 14, 15, tzinfo=UTC)


@pytest.fixture
def arena() -> Iterator[Arena]:
    arena = Arena()
    services = [service for service in arena.platform.platform.services if isinstance(service, Hub | Feed)]
    for service in services:
        service.startService()
    yield arena
    for service in services:
        service.stopService()
    arena.poller.stopService()
    arena.platform.close()


def test_each_change_is_told_once_and_names_nobody(arena: Arena) -> None:
    ear = Ear(arena.platform, arena.bob)
    arena.play(2)
    told = f'event:koth\ndata:{{"challenge_id":{arena.hill}}}\n\n'
    assert ear.news().replace(PING, "") == told
    arena.play(2)
    assert ear.news().replace(PING, "") == ""
    arena.agent.owner = "bob"
    arena.play(2)
    assert ear.news().replace(PING, "") == told


@pytest.fixture
def hill(conn: Connection) -> int:
    """A hill that a listed player holds."""
    number = a_hill(conn)
    conn.execute(update(hills).values(king_user_id=a_user(conn)))
    return number


def test_an_open_hill_is_told_of(conn: Connection, hill: int) -> None:
    assert read_kings(conn, NOW, {hill}) == (b'event:koth\ndata:{"challenge_id":%d}\n\n' % hill,)
    conn.execute(update(hills).values(king_user_id=None))
    assert len(read_kings(conn, NOW, {hill})) == 1
    assert read_kings(conn, NOW, {999, a_challenge(conn)}) == ()


@pytest.mark.parametrize(
    "settings",
    [
        {"freeze": int(NOW.timestamp())},
        {"start": int((NOW + timedelta(hours=1)).timestamp())},
        {"end": int((NOW - timedelta(hours=1)).timestamp())},
        {"challenge_visibility": "admins"},
        {"score_visibility": "hidden"},
        {"account_visibility": "admins"},
    ],
)
def test_nothing_is_told_that_players_may_not_see_now(conn: Connection, hill: int, settings: dict[str, Any]) -> None:
    write_config(conn, settings)
    assert read_kings(conn, NOW, {hill}) == ()


def hidden_hill(conn: Connection) -> None:
    conn.execute(update(challenges).values(state="hidden"))


def scheduled_hill(conn: Connection) -> None:
    conn.execute(update(challenges).values(scheduled_at=NOW + timedelta(hours=1)))


def hill_in_a_module(conn: Connection) -> None:
    conn.execute(update(challenges).values(module_id=insert_row(conn, modules, {"name": "m"})))


def hill_with_prerequisites(conn: Connection) -> None:
    conn.execute(update(challenges).values(requirements={"prerequisites": [a_challenge(conn)]}))


def hidden_king(conn: Connection) -> None:
    conn.execute(update(users).values(hidden=True))


@pytest.mark.parametrize("hide", [hidden_hill, scheduled_hill, hill_in_a_module, hill_with_prerequisites, hidden_king])
def test_nothing_is_told_of_what_some_may_not_see(
    conn: Connection, hill: int, hide: Callable[[Connection], None]
) -> None:
    hide(conn)
    assert read_kings(conn, NOW, {hill}) == ()
