"""A board that grows is the board that is made from nothing."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import zip_longest
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, select, update

from ctfd_twisted.accounts.tables import users
from ctfd_twisted.challenges.catalogue import NEWS, grow_catalogue, read_catalogue
from ctfd_twisted.challenges.catalogue import TOPICS as CATALOGUE_TOPICS
from ctfd_twisted.challenges.ratings_store import NewRating, rate
from ctfd_twisted.competition.store import read_competition, write_config
from ctfd_twisted.db.database import Database, start_inline
from ctfd_twisted.db.engine import open_engines
from ctfd_twisted.db.growing import GrowingSnapshot
from ctfd_twisted.db.notices import Bus, taken_topics
from ctfd_twisted.http.shared import Press
from ctfd_twisted.schema import metadata
from ctfd_twisted.scoring.boards import PublicBoard
from ctfd_twisted.scoring.live_board import Board, LiveBoard
from ctfd_twisted.scoring.news import tell_points
from ctfd_twisted.scoring.store import recompute_values, standings
from ctfd_twisted.testing import result_of
from ctfd_twisted.testing.builders import a_challenge, a_solve, a_team, a_user, an_award
from tests.unit.scoring.histories import CHANGES, NOW, Change, Event


@pytest.fixture
def db() -> Database:
    engines = open_engines("sqlite://")
    metadata.create_all(engines.write_engine)
    return Database(engines, Bus(), write=start_inline, read=start_inline)


def facts(board: Board) -> Any:
    return board.standings, dict(board.places), dict(board.people), board.answer.body, board.answer.etag


@pytest.mark.parametrize("mode", ["users", "teams"])
@given(changes=CHANGES)
@settings(max_examples=20, deadline=None)
def test_growing_step_by_step_is_adding_up_from_nothing(mode: str, changes: list[Change]) -> None:
    """After solves, awards, bans, deletions, edits, new grades and freezes in any order, and after each of them."""
    engines = open_engines("sqlite://")
    metadata.create_all(engines.write_engine)
    db = Database(engines, Bus(), write=start_inline, read=start_inline)
    event = result_of(db.run(Event, mode))
    board = PublicBoard(db, "/ctf")
    catalogue = GrowingSnapshot(db, db.bus, read_catalogue, grow_catalogue, topics=CATALOGUE_TOPICS, prefixes=NEWS)
    for change in changes:
        result_of(db.run(event.change, change))
        grown = facts(result_of(board.get()))
        made = facts(result_of(db.read(lambda conn: LiveBoard(conn, "/ctf", Press()).board)))
        assert grown == made
        assert grown[0] == result_of(db.read(lambda conn: standings(conn, read_competition(conn))))
        assert result_of(catalogue.get()) == result_of(db.read(read_catalogue))
    db.close()


@pytest.mark.parametrize("mode", ["users", "teams"])
@given(changes=CHANGES, heard=st.lists(st.integers(0, 4), max_size=25))
@settings(max_examples=20, deadline=None)
def test_a_node_that_hears_late_or_twice_comes_to_the_same_board(
    mode: str, changes: list[Change], heard: list[int]
) -> None:
    """It makes and grows its board between commits whose news it hears only later, in whatever order and number."""
    engines = open_engines("sqlite://")
    metadata.create_all(engines.write_engine)
    near, far = (Database(engines, Bus(), write=start_inline, read=start_inline) for _ in range(2))
    event = result_of(near.run(Event, mode))
    late: list[frozenset[str]] = []
    near.bus.subscribe(late.append)
    board = PublicBoard(far, "/ctf")
    catalogue = GrowingSnapshot(far, far.bus, read_catalogue, grow_catalogue, topics=CATALOGUE_TOPICS, prefixes=NEWS)
    for change, count in zip_longest(changes, heard, fillvalue=0):
        if not isinstance(change, int):
            result_of(near.run(event.change, change))
        for news in late[:count]:
            far.bus.publish(news)
        result_of(board.get())
        result_of(catalogue.get())
        # Half of it is told once more.
        del late[: count // 2]
    for news in reversed(late):
        far.bus.publish(news)
    made = facts(result_of(far.read(lambda conn: LiveBoard(conn, "/ctf", Press()).board)))
    assert facts(result_of(board.get())) == made
    assert result_of(catalogue.get()) == result_of(far.read(read_catalogue))
    far.close()


def test_members_of_a_team_are_shown_with_their_own_points(db: Database) -> None:
    def begin(conn: Connection) -> tuple[int, int, int]:
        event = Event(conn, "teams")
        team = a_team(conn, name="duo")
        ann, ben = (a_user(conn, name=name, team_id=team) for name in ("ann", "ben"))
        a_user(conn, name="ghost", team_id=team, hidden=True)
        a_solve(conn, event.numbers[2], ann, team_id=team, date=NOW)
        return team, ann, ben

    def award(conn: Connection) -> None:
        an_award(conn, ben, 7, team_id=team, date=NOW)
        tell_points(conn, ben, team)

    team, _, ben = result_of(db.run(begin))
    board = PublicBoard(db, "")
    result_of(board.get())
    result_of(db.run(award))
    assert board.ready() is None
    (line,) = msgspec.json.decode(result_of(board.get()).answer.body)["data"]
    assert [(member["name"], member["score"]) for member in line["members"]] == [("ann", 100), ("ben", 7)]
    assert (line["pos"], line["score"], line["account_url"]) == (1, 107, f"/teams/{team}")


def test_news_that_changes_nothing_leaves_the_lines_as_they_are(db: Database) -> None:
    def begin(conn: Connection) -> int:
        user = a_user(conn)
        a_solve(conn, a_challenge(conn), user, date=NOW)
        return user

    user = result_of(db.run(begin))
    board = PublicBoard(db, "")
    before = result_of(board.get())
    result_of(db.run(tell_points, user, None))
    assert result_of(board.get()).answer.body == before.answer.body


def test_a_failed_growth_is_made_good_from_nothing(db: Database) -> None:
    calls: list[str] = []

    def build(conn: Connection) -> list[str]:
        calls.append("build")
        return [*conn.execute(select(users.c.name).order_by(users.c.id)).scalars()]

    def grow(conn: Connection, value: list[str], news: frozenset[str]) -> list[str]:
        del conn, news
        calls.append("grow")
        value.append("half done")
        raise ValueError("the database is away")

    snapshot = GrowingSnapshot(db, db.bus, build, grow, topics=("standings",), prefixes=("points:",))
    user = result_of(db.run(lambda conn: a_user(conn, name="ann")))
    assert result_of(snapshot.get()) == ["ann"]
    result_of(db.run(tell_points, user, None))
    with pytest.raises(ValueError, match="away"):
        result_of(snapshot.get())
    assert result_of(snapshot.get()) == ["ann"]
    assert calls == ["build", "grow", "build"]


def test_more_news_than_is_worth_adding_is_read_anew(db: Database) -> None:
    calls: list[str] = []

    def build(conn: Connection) -> int:
        del conn
        calls.append("build")
        return 0

    def grow(conn: Connection, value: int, news: frozenset[str]) -> int:
        del conn
        calls.append("grow")
        return value + len(news)

    snapshot = GrowingSnapshot(db, db.bus, build, grow, topics=("standings",), prefixes=("points:",))
    assert result_of(snapshot.get()) == 0
    for number in range(5):
        result_of(db.run(tell_points, number, None))
    assert result_of(snapshot.get()) == 5
    for number in range(1000):
        result_of(db.run(tell_points, number, None))
    assert result_of(snapshot.get()) == 0
    assert calls == ["build", "grow", "build"]


def test_a_rating_leaves_the_value_that_is_shown_after_the_freeze(db: Database) -> None:
    """Where CTFd left a stored value behind that it did not compute anew."""

    def begin(conn: Connection) -> tuple[int, int]:
        challenge, user = a_challenge(conn, dynamic={"initial": 500}, value=100), a_user(conn)
        a_solve(conn, challenge, user, date=NOW - timedelta(days=1))
        write_config(conn, {"freeze": int(NOW.timestamp()), "user_mode": "users"})
        return challenge, user

    challenge, user = result_of(db.run(begin))
    catalogue = GrowingSnapshot(db, db.bus, read_catalogue, grow_catalogue, topics=CATALOGUE_TOPICS, prefixes=NEWS)
    assert result_of(catalogue.get()).entries[challenge].public.value == 500
    result_of(db.run(lambda conn: rate(conn, NOW - timedelta(hours=1), user, challenge, NewRating(1))))
    grown = result_of(catalogue.get())
    assert grown == result_of(db.read(read_catalogue))
    assert (grown.entries[challenge].public.value, grown.entries[challenge].public.ratings.count) == (500, 1)


def test_an_account_that_is_hidden_by_hand_is_told_and_gone(db: Database) -> None:
    def begin(conn: Connection) -> int:
        user = a_user(conn)
        an_award(conn, user, 5, date=NOW)
        return user

    user = result_of(db.run(begin))
    board = PublicBoard(db, "")
    assert len(result_of(board.get()).standings) == 1
    db.bus.publish(("accounts",))
    with db.engines.writer() as conn, conn.begin():
        conn.execute(update(users).where(users.c.id == user).values(hidden=True))
    assert result_of(board.get()).standings == ()


def test_a_value_that_ctfd_did_not_compute_anew_does_not_move_a_frozen_board(db: Database) -> None:
    def begin(conn: Connection) -> tuple[int, int]:
        stale, ben = a_challenge(conn, dynamic={"initial": 500}, value=100), a_user(conn)
        a_solve(conn, stale, a_user(conn, name="ann"), date=NOW - timedelta(days=1))
        write_config(conn, {"freeze": int(NOW.timestamp()), "user_mode": "users"})
        return stale, ben

    def solve(conn: Connection) -> None:
        a_solve(conn, stale, ben, date=NOW)
        tell_points(conn, ben, None)

    stale, ben = result_of(db.run(begin))
    board = PublicBoard(db, "")
    before = result_of(board.get()).answer.body
    result_of(db.run(solve))
    assert (board.ready(), result_of(board.get()).answer.body) == (None, before)
    assert b'"score":500' in before, "as the list of challenges has it"


class Frozen:
    """Two challenges whose value follows their solves, both solved by ann and one by ben, and then the freeze."""

    def __init__(self, conn: Connection) -> None:
        write_config(conn, {"user_mode": "users", "freeze": int(NOW.timestamp())})
        self.first, self.second = (
            a_challenge(conn, dynamic={"initial": 100, "minimum": 10, "decay": 3}) for _ in range(2)
        )
        self.ann, self.ben, self.cid, self.dee = (a_user(conn, name=name) for name in ("ann", "ben", "cid", "dee"))
        for user, challenge in ((self.ann, self.first), (self.ann, self.second), (self.ben, self.first)):
            a_solve(conn, challenge, user, date=NOW - timedelta(hours=1))
        recompute_values(conn)

    def solve(self, conn: Connection, user: int, challenge: int, date: datetime) -> None:
        """A solve that is told, as the platform stores it."""
        self.solve_untold(conn, user, challenge, date)
        tell_points(conn, user, None)

    def solve_untold(self, conn: Connection, user: int, challenge: int, date: datetime) -> None:
        """The same before its news has come: of another node, or of this one between commit and news."""
        a_solve(conn, challenge, user, date=date)
        recompute_values(conn, (challenge,))
        taken_topics(conn)


LATER = NOW + timedelta(minutes=1)


def made_anew(db: Database) -> Any:
    return facts(result_of(db.read(lambda conn: LiveBoard(conn, "", Press()).board)))


def test_values_that_move_after_the_freeze_are_not_those_of_whoever_scores_next(db: Database) -> None:
    event = result_of(db.run(Frozen))
    board = PublicBoard(db, "")
    before = facts(result_of(board.get()))
    for user, challenge in ((event.cid, event.first), (event.dee, event.second), (event.ben, event.second)):
        result_of(db.run(event.solve, user, challenge, LATER))
        assert facts(result_of(board.get())) == before == made_anew(db)
    result_of(db.run(tell_points, event.ann, None))
    assert facts(result_of(board.get())) == before == made_anew(db)


def test_a_solve_from_before_the_freeze_that_is_stored_after_others_counts(db: Database) -> None:
    """It waited for a lock or a thread, or the clock of its node is behind."""
    event = result_of(db.run(Frozen))
    board = PublicBoard(db, "")
    result_of(db.run(event.solve, event.cid, event.first, LATER))
    before = facts(result_of(board.get()))
    result_of(db.run(event.solve, event.dee, event.first, NOW - timedelta(seconds=1)))
    assert facts(result_of(board.get())) == made_anew(db) != before


def test_what_was_solved_after_the_freeze_shows_through_no_news_of_others(db: Database) -> None:
    event = result_of(db.run(Frozen))
    board = PublicBoard(db, "")
    before = facts(result_of(board.get()))
    result_of(db.run(event.solve_untold, event.cid, event.first, LATER))
    result_of(db.run(tell_points, event.ben, None))
    assert facts(result_of(board.get())) == before


def test_an_award_after_the_freeze_seals_nothing(db: Database) -> None:
    event = result_of(db.run(Frozen))
    board = PublicBoard(db, "")
    result_of(db.run(lambda conn: an_award(conn, event.cid, 5, date=LATER)))
    result_of(db.run(tell_points, event.cid, None))
    before = facts(result_of(board.get()))
    result_of(db.run(event.solve, event.dee, event.first, LATER))
    result_of(db.run(tell_points, event.ann, None))
    assert facts(result_of(board.get())) == before == made_anew(db)
