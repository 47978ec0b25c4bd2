"""Kings, standings, reigns and ticks as they are read; and what is taken back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, delete, func, select, update

from ctfd_twisted.accounts.identity import Player
from ctfd_twisted.accounts.tables import users
from ctfd_twisted.db.leases import acquire
from ctfd_twisted.errors import Invalid, NotFound
from ctfd_twisted.koth.boards import (
    KingOfHill,
    Sight,
    failing_hills,
    read_hills,
    read_ticks,
)
from ctfd_twisted.koth.recording import LEASE, Moment, record_tick
from ctfd_twisted.koth.reigns import PastReign, Standing, read_reigns, read_standings
from ctfd_twisted.koth.skipping import record_unasked
from ctfd_twisted.koth.store import read_directory
from ctfd_twisted.koth.tables import ticks
from ctfd_twisted.koth.voids import read_voids, undo_void, void_ticks
from ctfd_twisted.scoring.tables import awards
from ctfd_twisted.testing.builders import a_user, an_admin
from ctfd_twisted.testing.hills import a_hill, evidence

START = datetime(2026, 3, 14, 12, tzinfo=UTC)
US = "this node"


def at(tick: int) -> datetime:
    return START + timedelta(minutes=tick)


def play(conn: Connection, hill: int, *story: str, first: int = 0) -> None:
    """Ticks with these owners; ``down`` is an agent that does not answer, ``missed`` a tick that nobody polled."""
    acquire(conn, START, LEASE, US, 1_000_000)
    directory = read_directory(conn)
    for tick, owner in enumerate(story, first):
        moment = Moment(tick, at(tick))
        if owner == "missed":
            record_unasked(conn, at(tick), US, hill, [moment], "missed", "")
        elif owner == "down":
            found = evidence(at(tick), failure="unreachable")
            record_tick(conn, at(tick), US, directory, hill, moment, found)
        else:
            record_tick(conn, at(tick), US, directory, hill, moment, evidence(at(tick), owner))


def reigns(conn: Connection, hill: int, **options: Any) -> tuple[PastReign, ...]:
    wanted = {"teams_mode": False, "public": True, "until": None, "limit": 100, "offset": 0, **options}
    return read_reigns(conn, hill, **wanted)[0]


def standings(conn: Connection, hill: int, **options: Any) -> tuple[Standing, ...]:
    return read_standings(conn, hill, **{"teams_mode": False, "public": True, "until": None, **options})


def score(conn: Connection, user: int) -> int:
    return int(
        conn.execute(select(func.coalesce(func.sum(awards.c.value), 0)).where(awards.c.user_id == user)).scalar_one()
    )


class Court:
    """Two players, an admin, and a hill with a story."""

    def __init__(self, conn: Connection) -> None:
        self.conn = conn
        self.hill = a_hill(conn, name="The Hill")
        self.ada, self.bob = a_user(conn, name="ada"), a_user(conn, name="bob")
        self.root = Player(an_admin(conn, name="root"), "root", is_admin=True)
        play(conn, self.hill, "ada", "ada", "down", "ada", "missed", "bob", "", "bob", "ada")
        self.kings = {"ada": KingOfHill(self.ada, "ada", "user"), "bob": KingOfHill(self.bob, "bob", "user")}


@pytest.fixture
def court(any_conn: Connection) -> Court:
    return Court(any_conn)


def test_reigns_are_runs_of_one_king_newest_first(court: Court) -> None:
    ada, bob = court.kings["ada"], court.kings["bob"]
    assert reigns(court.conn, court.hill) == (
        PastReign(ada, at(8), at(8), 1, 10),
        PastReign(bob, at(7), at(7), 1, 10),
        PastReign(bob, at(5), at(5), 1, 10),
        PastReign(ada, at(0), at(3), 3, 30),
    )
    page, total = read_reigns(court.conn, court.hill, teams_mode=False, public=True, until=None, limit=2, offset=1)
    assert (total, [reign.begun for reign in page]) == (4, [at(7), at(5)])


def test_standings_add_up_reigns(court: Court) -> None:
    assert standings(court.conn, court.hill) == (
        Standing(court.kings["ada"], 40, 4, 3),
        Standing(court.kings["bob"], 20, 2, 1),
    )


def test_a_freeze_leaves_out_what_was_due_from_then_on(court: Court) -> None:
    frozen = [reign.begun for reign in reigns(court.conn, court.hill, until=at(3))]
    assert frozen == [at(0)]
    assert standings(court.conn, court.hill, until=at(3)) == (Standing(court.kings["ada"], 20, 2, 2),)


def test_the_public_never_sees_who_is_hidden_or_banned(court: Court) -> None:
    court.conn.execute(update(users).where(users.c.id == court.ada).values(banned=True))
    assert {reign.account for reign in reigns(court.conn, court.hill)} == {court.kings["bob"]}
    assert [row.account for row in standings(court.conn, court.hill)] == [court.kings["bob"]]
    assert len(reigns(court.conn, court.hill, public=False)) == 4
    (hill,) = read_hills(court.conn, teams_mode=False)
    assert (hill.king, hill.listed) == (court.kings["ada"], False)


def test_the_list_shows_how_each_hill_stands(court: Court) -> None:
    other = a_hill(court.conn)
    first, second = read_hills(court.conn, teams_mode=False)
    assert (first.king, first.listed, first.since) == (court.kings["ada"], True, at(8))
    assert (first.reign_ticks, first.last_outcome, first.name) == (1, "held", "The Hill")
    assert (second.challenge_id, second.king, second.last_outcome) == (other, None, None)
    assert read_hills(court.conn, teams_mode=False, only=other) == (second,)


def test_checks_are_every_tick_newest_first(court: Court) -> None:
    page, total = read_ticks(court.conn, court.hill, teams_mode=False, limit=3, offset=0)
    assert (total, [tick.outcome for tick in page]) == (9, ["held", "held", "unclaimed"])
    page, total = read_ticks(court.conn, court.hill, teams_mode=False, outcome="unreachable", limit=9, offset=0)
    assert (total, [tick.tick for tick in page]) == (1, [2])


def test_players_see_their_own_ticks_and_all_after_the_end_but_for_a_freeze(court: Court) -> None:
    def seen(sight: Sight) -> list[int]:
        page, total = read_ticks(court.conn, court.hill, teams_mode=False, sight=sight, limit=100, offset=0)
        assert total == len(page)
        return sorted(tick.tick for tick in page)

    assert seen(Sight(own=court.bob)) == [5, 7]
    assert seen(Sight()) == []
    assert seen(Sight(own=court.bob, others=True)) == list(range(9))
    assert seen(Sight(own=court.bob, others=True, until=at(2))) == [0, 1, 5, 7]


def test_what_was_taken_back_is_gone_from_scores_and_reigns_but_its_evidence_stays(court: Court) -> None:
    assert (score(court.conn, court.ada), score(court.conn, court.bob)) == (40, 20)
    void = void_ticks(court.conn, at(9), court.root, court.hill, 1, 5, "the agent was wrong")
    assert (void.ticks, void.author, void.reason, void.undone) == (3, "root", "the agent was wrong", None)
    assert (score(court.conn, court.ada), score(court.conn, court.bob)) == (20, 10)
    page, _ = read_ticks(court.conn, court.hill, teams_mode=False, outcome="void", limit=9, offset=0)
    assert [(tick.tick, tick.voided, tick.identifier, tick.points) for tick in page] == [
        (5, "held", "bob", 0),
        (3, "held", "ada", 0),
        (1, "held", "ada", 0),
    ]
    assert [(reign.begun, reign.ticks, reign.points) for reign in reigns(court.conn, court.hill)] == [
        (at(8), 1, 10),
        (at(7), 1, 10),
        (at(0), 1, 10),
    ]
    assert read_voids(court.conn, court.hill) == (void,)


def test_taking_back_can_itself_be_undone_once(court: Court) -> None:
    before = standings(court.conn, court.hill), reigns(court.conn, court.hill)
    void = void_ticks(court.conn, at(9), court.root, court.hill, 0, 8, "a mistake")
    assert standings(court.conn, court.hill) == ()
    undone = undo_void(court.conn, at(10), court.root, court.hill, void.id)
    assert (undone.undone, undone.undone_by, undone.ticks) == (at(10), "root", 0)
    assert (standings(court.conn, court.hill), reigns(court.conn, court.hill)) == before
    assert (score(court.conn, court.ada), score(court.conn, court.bob)) == (40, 20)
    dates = court.conn.execute(select(awards.c.date).order_by(awards.c.date)).scalars().all()
    assert dates == [at(tick) for tick in (0, 1, 3, 5, 7, 8)]
    with pytest.raises(Invalid):
        undo_void(court.conn, at(11), court.root, court.hill, void.id)


def test_what_was_taken_back_already_is_not_taken_twice(court: Court) -> None:
    first = void_ticks(court.conn, at(9), court.root, court.hill, 0, 1, "one")
    second = void_ticks(court.conn, at(9), court.root, court.hill, 0, 3, "two")
    assert second.ticks == 1
    with pytest.raises(Invalid) as raised:
        void_ticks(court.conn, at(9), court.root, court.hill, 0, 4, "three")
    assert list(raised.value.errors) == ["from"]
    undo_void(court.conn, at(10), court.root, court.hill, first.id)
    assert score(court.conn, court.ada) == 30


def test_undoing_for_an_account_that_is_gone_gives_nobody_an_award(court: Court) -> None:
    void = void_ticks(court.conn, at(9), court.root, court.hill, 0, 8, "all")
    court.conn.execute(delete(users).where(users.c.id == court.ada))
    undo_void(court.conn, at(10), court.root, court.hill, void.id)
    assert score(court.conn, court.bob) == 20
    assert court.conn.execute(select(func.count()).select_from(awards)).scalar_one() == 2


def test_only_a_hill_has_ticks_to_take_back(court: Court) -> None:
    void = void_ticks(court.conn, at(9), court.root, court.hill, 0, 0, "x")
    with pytest.raises(NotFound):
        void_ticks(court.conn, at(9), court.root, 10_000, 0, 0, "x")
    with pytest.raises(NotFound):
        undo_void(court.conn, at(9), court.root, a_hill(court.conn), void.id)


def test_an_award_that_an_admin_deleted_counts_no_more(court: Court) -> None:
    court.conn.execute(delete(awards).where(awards.c.date == at(0)))
    assert standings(court.conn, court.hill)[0] == Standing(court.kings["ada"], 30, 4, 3)


def test_twenty_failures_in_a_row_put_a_hill_on_the_list(any_conn: Connection) -> None:
    hill = a_hill(any_conn, name="Sick")
    play(any_conn, hill, *["down"] * 19)
    assert failing_hills(any_conn) == ()
    play(any_conn, hill, "down", first=19)
    assert failing_hills(any_conn) == ((hill, "Sick", 20, "unreachable"),)
    play(any_conn, hill, "", first=20)
    assert failing_hills(any_conn) == ()


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.sampled_from(["ada", "bob", "", "down", "missed"]), max_size=25))
def test_reigns_never_overlap_and_add_up(conn: Connection, story: list[str]) -> None:
    with conn.begin_nested() as savepoint:
        hill = a_hill(conn)
        for name in ("ada", "bob"):
            conn.execute(delete(users).where(users.c.name == name))
            a_user(conn, name=name)
        play(conn, hill, *story)
        found = reigns(conn, hill)
        assert sum(reign.ticks for reign in found) == sum(owner in {"ada", "bob"} for owner in story)
        assert all(later.begun > earlier.last for later, earlier in pairwise(found))
        total = conn.execute(select(func.coalesce(func.sum(ticks.c.points), 0)).where(ticks.c.challenge_id == hill))
        assert sum(reign.points for reign in found) == total.scalar_one()
        savepoint.rollback()
