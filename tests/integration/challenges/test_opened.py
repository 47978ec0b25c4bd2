"""That a player has opened a challenge is kept once, whoever writes it down and however often."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

from sqlalchemy import Connection, select

from ctfd_twisted.accounts.tables import tracking
from ctfd_twisted.accounts.tracking import record_sightings
from ctfd_twisted.challenges.opened import Look, record_opened
from ctfd_twisted.db.behind import LIMIT, write_notes
from ctfd_twisted.db.database import Database, start_inline
from ctfd_twisted.db.engine import open_engines
from ctfd_twisted.db.notices import Bus
from ctfd_twisted.testing import result_of
from ctfd_twisted.testing.builders import a_user

NODES = 4


def test_the_first_look_of_each_player_at_each_challenge_is_kept(any_conn: Connection, now: datetime) -> None:
    ann, ben = a_user(any_conn), a_user(any_conn)
    record_sightings(any_conn, {(ann, "::1"): now})
    later = Look("::2", now + timedelta(hours=1))
    record_opened(any_conn, {(ann, 1): Look("::1", now)})
    record_opened(any_conn, {(ann, 1): later, (ann, 2): later, (ben, 1): later, (999, 1): later})
    rows = any_conn.execute(select(tracking).where(tracking.c.type == "challenges.open").order_by(tracking.c.id)).all()
    assert [(row.user_id, row.target, row.ip, row.date) for row in rows] == [
        (ann, 1, "::1", now), (ann, 2, "::2", later.at), (ben, 1, "::2", later.at)
    ]  # fmt: skip


def test_as_many_as_may_wait_are_written_at_once(any_conn: Connection, now: datetime) -> None:
    ann = a_user(any_conn)
    crowd = range(ann, ann + LIMIT)
    for _ in range(2):
        sightings = record_sightings, {(user_id, f"::{user_id}"): now for user_id in crowd}
        opened = record_opened, {(user_id, 1): Look("::1", now) for user_id in crowd}
        write_notes(any_conn, [sightings, opened])
    assert any_conn.scalars(select(tracking.c.type).order_by(tracking.c.id)).all() == [None, "challenges.open"]


def test_nodes_that_note_the_same_at_once_keep_it_once(database_url: str, now: datetime) -> None:
    nodes = [Database(open_engines(database_url), Bus(), write=start_inline, read=start_inline) for _ in range(NODES)]
    users = result_of(nodes[0].run(lambda conn: [a_user(conn) for _ in range(20)]))
    looks = {(user, challenge): Look("::1", now) for user in users for challenge in range(5)}
    places = {(user, "::1"): now for user in users}

    def write(node: Database) -> None:
        result_of(node.run(write_notes, [(record_sightings, places), (record_opened, looks)]))

    with ThreadPoolExecutor(NODES) as threads:
        list(threads.map(write, nodes))
    found = result_of(nodes[0].read(lambda conn: conn.execute(select(tracking)).all()))
    for node in nodes:
        node.close()
    assert sorted((row.user_id, row.target) for row in found if row.target is not None) == sorted(looks)
    assert sorted(row.user_id for row in found if row.target is None) == users
