"""The first places that are kept are those that are read anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from sqlalchemy import Connection

from ctfd_twisted.accounts.tables import brackets, teams, users
from ctfd_twisted.challenges.modules_store import ModuleFields, create_module, move_challenge
from ctfd_twisted.db.database import Database, Done, start_inline
from ctfd_twisted.db.engine import open_engines
from ctfd_twisted.db.notices import Bus
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.schema import metadata
from ctfd_twisted.scoring.boards import PublicBoard
from ctfd_twisted.scoring.news import tell_points
from ctfd_twisted.scoring.rules import LONG_AGO
from ctfd_twisted.scoring.scoreboard import Top, read_top, top_answer
from ctfd_twisted.scoring.tops import Tops
from ctfd_twisted.testing import result_of
from ctfd_twisted.testing.builders import a_solve, an_award
from tests.unit.scoring.histories import CHANGES, NOW, Change, Event


def in_bracket(conn: Connection) -> int:
    """A bracket in which half of all accounts are."""
    bracket = insert_row(conn, brackets, {"name": "half", "type": "teams"})
    for table in (teams, users):
        conn.execute(table.update().where(table.c.id % 2 == 0).values(bracket_id=bracket))
    return bracket


@pytest.mark.parametrize("mode", ["users", "teams"])
@given(changes=CHANGES)
@settings(max_examples=20, deadline=None)
def test_they_are_those_read_anew_after_any_history(mode: str, changes: list[Change]) -> None:
    engines = open_engines("sqlite://")
    metadata.create_all(engines.write_engine)
    db = Database(engines, Bus(), write=start_inline, read=start_inline)
    event = result_of(db.run(Event, mode))
    bracket = result_of(db.run(in_bracket))
    board, tops = PublicBoard(db, "/ctf"), Tops(db)
    for change in changes:
        result_of(db.run(event.change, change))
        for chosen in (None, bracket):
            wanted = Top(result_of(board.get()), chosen, "/ctf", NOW)
            read = result_of(db.read(read_top, wanted))
            for count in (1, 3):
                shared = result_of(tops.get(wanted, count))
                assert shared.body == top_answer(read, count)
                assert tops.ready(wanted, count) is shared
                assert shared.etag == result_of(Tops(db).get(wanted, count)).etag
    db.close()


class House:
    """Two players, of whom the first has points, over a database that reads when the test says so."""

    def __init__(self) -> None:
        engines = open_engines("sqlite://")
        metadata.create_all(engines.write_engine)
        self.pending: list[tuple[Callable[[], Any], Done]] = []
        self.db = Database(engines, Bus(), write=start_inline, read=self._start)
        self.slow = False
        self.event = result_of(self.db.run(Event, "users"))
        result_of(self.db.run(self.award, 0))
        self.board, self.tops = PublicBoard(self.db, ""), Tops(self.db)

    def _start(self, work: Callable[[], Any], done: Done) -> None:
        if self.slow:
            self.pending.append((work, done))
        else:
            start_inline(work, done)

    def award(self, conn: Connection, who: int) -> None:
        an_award(conn, self.event.players[who], 10, date=NOW)
        tell_points(conn, self.event.players[who], None)

    def first(self) -> Top:
        return Top(result_of(self.board.get()), None, "", LONG_AGO)


def test_what_one_gained_while_histories_were_read_is_read_again() -> None:
    house = House()
    result_of(house.tops.get(house.first(), 5))
    result_of(house.db.run(house.award, 0))
    wanted = house.first()
    house.slow = True
    before = house.tops.get(wanted, 5)
    ((work, done),) = house.pending
    outcome: list[tuple[bool, Any]] = []
    start_inline(work, lambda *told: outcome.append(told))  # it has read, and the reactor has not heard of it
    house.slow = False
    result_of(house.db.run(house.award, 0))
    done(*outcome[0])
    assert result_of(before).body.count(b'"value":10') == 2
    assert result_of(house.tops.get(house.first(), 5)).body.count(b'"value":10') == 3
    house.db.close()


def test_of_two_readings_at_once_each_hears_for_itself() -> None:
    house = House()
    result_of(house.tops.get(house.first(), 5))
    result_of(house.db.run(house.award, 0))
    wanted = house.first()
    house.slow = True
    waiting = [house.tops.get(wanted, count) for count in (5, 1)]
    (first, second), house.pending = house.pending, []
    outcome: list[tuple[bool, Any]] = []
    start_inline(first[0], lambda *told: outcome.append(told))
    start_inline(*second)
    house.slow = False
    result_of(house.db.run(house.award, 0))  # the first has read, and does not know of this
    first[1](*outcome[0])
    assert [result_of(one).body.count(b'"value":10') for one in waiting] == [2, 2]
    assert result_of(house.tops.get(house.first(), 5)).body.count(b'"value":10') == 3
    house.db.close()


def test_all_who_wait_share_one_reading() -> None:
    house = House()
    wanted = house.first()
    result_of(house.tops.get(wanted, 5))
    result_of(house.db.run(house.award, 0))
    wanted = house.first()
    house.slow = True
    waiting = [house.tops.get(wanted, 5) for _ in range(16)]
    assert [house.tops.ready(wanted, 5), len(house.pending)] == [None, 1]
    start_inline(*house.pending.pop())
    assert len({id(result_of(one)) for one in waiting}) == 1
    assert house.pending == []
    house.db.close()


def test_points_of_somebody_else_need_nothing_to_be_read() -> None:
    house = House()
    result_of(house.db.run(house.award, 0))
    result_of(house.tops.get(house.first(), 1))
    result_of(house.db.run(house.award, 1))
    wanted = house.first()
    house.slow = True
    assert house.tops.ready(wanted, 1) is not None
    assert house.pending == []
    house.db.close()


def test_a_module_that_is_closed_takes_names_out_though_the_board_stays() -> None:
    house = House()

    def solve(conn: Connection) -> None:
        a_solve(conn, house.event.numbers[2], house.event.players[0], date=NOW)
        tell_points(conn, house.event.players[0], None)

    result_of(house.db.run(solve))
    wanted = Top(result_of(house.board.get()), None, "", NOW)
    assert b'"challenge_id":%d' % house.event.numbers[2] in result_of(house.tops.get(wanted, 1)).body
    close = _closing(house.event.numbers[2])
    result_of(house.db.run(close))
    assert house.board.ready() is wanted.board
    assert b'"challenge_id":%d' % house.event.numbers[2] not in result_of(house.tops.get(wanted, 1)).body


def _closing(challenge: int) -> Callable[[Connection], object]:
    return lambda conn: move_challenge(conn, create_module(conn, ModuleFields("closed")).id, challenge)
