"""Ratings, on SQLite and on PostgreSQL, also given by several nodes at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from threading import Barrier
from typing import Any

import pytest
from sqlalchemy import Connection

from ctfd_twisted.challenges.catalogue import Ratings, read_catalogue
from ctfd_twisted.challenges.ratings_store import NewRating, list_ratings, rate
from ctfd_twisted.db.database import Database, start_inline
from ctfd_twisted.db.engine import open_engines
from ctfd_twisted.db.notices import Bus
from ctfd_twisted.errors import NotFound
from ctfd_twisted.testing import result_of
from ctfd_twisted.testing.builders import a_challenge, a_user

AT_ONCE = 8


def test_ratings_are_replaced_and_counted(any_conn: Connection, now: datetime) -> None:
    conn, number, user = any_conn, a_challenge(any_conn), a_user(any_conn)
    first = rate(conn, now, user, number, NewRating(1, "Well made"))
    rate(conn, now, a_user(conn), number, NewRating(1))
    assert rate(conn, now, user, number, NewRating(-1))["id"] == first["id"]
    assert list_ratings(conn, number, 0, 1).summary == read_catalogue(conn).entries[number].live.ratings
    assert list_ratings(conn, number, 1, 1).items[0]["value"] == -1
    with pytest.raises(NotFound):
        rate(conn, now, user, number + 1, NewRating(1))


def test_a_player_who_rates_several_times_at_once_has_one_rating(database_url: str, now: datetime) -> None:
    nodes = [Database(open_engines(database_url), Bus(), write=start_inline, read=start_inline) for _ in range(AT_ONCE)]
    challenge: Any = a_challenge
    player: Any = a_user
    number, user = result_of(nodes[0].run(challenge)), result_of(nodes[0].run(player))
    together = Barrier(AT_ONCE)

    def send(node: Database) -> int:
        result_of(node.run(list_ratings, number, 0, 1))
        together.wait(30)
        rating_id: int = result_of(node.run(rate, now, user, number, NewRating(1)))["id"]
        return rating_id

    with ThreadPoolExecutor(AT_ONCE) as threads:
        given = list(threads.map(send, nodes))
    assert len(set(given)) == 1
    assert result_of(nodes[0].read(list_ratings, number, 0, 9)).summary == Ratings(1, 0, 1)
    for node in nodes:
        node.close()
