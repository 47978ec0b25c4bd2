"""What channels tell whom: nothing that the API would not show them."""

import json
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, update

from ctfd_twisted.accounts.tables import users
from ctfd_twisted.challenges.tables import challenges
from ctfd_twisted.competition.store import write_config
from ctfd_twisted.db.notices import touch
from ctfd_twisted.live.solves_store import read_solves
from ctfd_twisted.live.views import View
from tests.unit.koth.arena import Arena
from tests.unit.live.contest import Contest, account
from tests.unit.live.ear import Ear, events_in


@pytest.fixture
def contest() -> Iterator[Contest]:
    contest = Contest()
    yield contest
    contest.close()


@pytest.fixture
def teams() -> Iterator[Contest]:
    contest = Contest("teams")
    yield contest
    contest.close()


def in_a_team(contest: Contest, name: str) -> Any:
    """A player in a team of their own."""
    player = contest.platform.player(name)
    team = contest.admin.post("/api/v1/teams", {"name": f"team {name}", "password": "p", "email": f"{name}@t.org"})
    contest.admin.post(f"/api/v1/teams/{team.data['id']}/members", {"user_id": account(player)})
    return player


def test_a_hidden_player_scores_for_administrators_alone(contest: Contest) -> None:
    ghost, ann = contest.platform.player("ghost", hidden=True), contest.platform.player("ann")
    number = contest.challenge("one")
    ears = [contest.listen(who, "solves,scoreboard") for who in (ann, contest.admin)]
    for ear in ears:
        ear.news()
    contest.solve(ghost, number, "one")
    contest.pass_time()
    assert ears[0].news() == ""
    (solve,) = ears[1].heard()
    assert solve.data["user"]["name"] == "ghost"


def hide(conn: Connection) -> None:
    conn.execute(update(challenges).values(state="hidden"))


def ask_for_another(conn: Connection) -> None:
    conn.execute(update(challenges).where(challenges.c.name == "one").values(requirements={"prerequisites": [2]}))


@pytest.mark.parametrize("close", [hide, ask_for_another])
def test_a_challenge_that_not_all_see_is_not_named(contest: Contest, close: Callable[[Connection], None]) -> None:
    ann, ben = contest.platform.player("ann"), contest.platform.player("ben")
    one = contest.challenge("one")
    contest.challenge("two")
    contest.solve(ann, one, "one")
    begin = contest.listen(ben, "solves").heard()[0]
    assert begin.data["solves"][0]["challenge"]["name"] == "one"

    def shut(conn: Connection) -> None:
        close(conn)
        touch(conn, "challenges")

    contest.platform.run(shut)
    for who, expected in ((ben, None), (contest.admin, "one")):
        (solve,) = contest.listen(who, "solves").heard()[0].data["solves"]
        assert (solve["challenge"] and solve["challenge"]["name"]) == expected


def test_who_can_not_play_hears_who_scored_and_not_where(teams: Contest) -> None:
    member, loner = in_a_team(teams, "ann"), teams.platform.player("ben")
    number = teams.challenge("one")
    ears = [teams.listen(who, "solves,scoreboard,koth") for who in (member, loner)]
    for ear in ears:
        ear.news()
    teams.solve(member, number, "one")
    teams.pass_time()
    (solve, board), (same, same_board) = (ear.heard() for ear in ears)
    assert solve.data["team"]["name"] == "team ann"
    assert solve.data["challenge"]["name"] == "one"
    assert same.data == {**solve.data, "challenge": None}
    assert board.data == same_board.data


def test_who_is_not_verified_hears_no_name_of_a_challenge(contest: Contest) -> None:
    contest.platform.configure(verify_emails=True)
    ann = contest.platform.player("ann")
    ben = contest.platform.player("ben", verified=False)
    contest.solve(ann, contest.challenge("one"), "one")
    (solve,) = contest.listen(ben, "solves").heard()[0].data["solves"]
    assert solve["challenge"] is None


def test_a_solve_that_was_taken_away_is_not_told_again(contest: Contest) -> None:
    ann = contest.platform.player("ann")
    contest.solve(ann, contest.challenge("one"), "one")
    contest.admin.delete("/api/v1/submissions/1")
    for since in (None, "x.0.x.x"):
        assert "one" not in contest.listen(ann, "solves", since).body


class TestTheFreeze:
    """After it the public stream says nothing new."""

    @pytest.fixture
    def frozen(self, contest: Contest) -> Contest:
        """Ann has solved; the freeze comes in ten seconds."""
        self.ann, self.ben = contest.platform.player("ann"), contest.platform.player("ben")
        self.numbers = [contest.challenge(name) for name in ("one", "two")]
        contest.solve(self.ann, self.numbers[0], "one")
        contest.platform.configure(freeze=int((contest.platform.now + timedelta(seconds=10)).timestamp()))
        return contest

    def test_players_hear_nothing_and_administrators_everything(self, frozen: Contest) -> None:
        ears = [frozen.listen(who, "solves,scoreboard,koth") for who in (self.ben, frozen.admin)]
        frozen.pass_time(9)
        first = ears[0].heard()
        assert len(first[-1].data["rows"]) == 1
        frozen.pass_time(2)
        for ear in ears:
            ear.news()
        frozen.solve(self.ben, self.numbers[1], "two")
        frozen.pass_time(3)
        assert ears[0].heard() == []
        assert [one.data["user"]["name"] for one in ears[1].heard()] == ["ben"]

    def test_nor_when_they_begin_or_come_back(self, frozen: Contest) -> None:
        before = frozen.listen(self.ben, "solves,scoreboard").last_id
        frozen.pass_time(12)
        frozen.solve(self.ben, self.numbers[1], "two")
        frozen.pass_time(2)
        assert frozen.listen(self.ben, "solves,scoreboard", before).heard() == []
        solves, board = frozen.listen(self.ben, "solves,scoreboard").heard()
        assert [solve["user"]["name"] for solve in solves.data["solves"]] == ["ann"]
        assert [row["name"] for row in board.data["rows"]] == ["ann"]

    def test_what_was_kept_back_is_told_when_it_is_lifted(self, frozen: Contest) -> None:
        frozen.pass_time(12)
        ear = frozen.listen(self.ben, "solves,scoreboard")
        frozen.solve(self.ben, self.numbers[1], "two")
        frozen.pass_time(2)
        ear.news()
        frozen.platform.run(write_config, {"freeze": None})
        frozen.pass_time(2)
        heard = {one.name: one.data for one in ear.heard()}
        assert [solve["user"]["name"] for solve in heard["snapshot"]["solves"]] == ["ann", "ben"]
        assert [row["name"] for row in heard["scoreboard"]["rows"]] == ["ben"]


class TestKings:
    """Who holds which hill."""

    @pytest.fixture
    def arena(self) -> Iterator[Arena]:
        arena = Arena()
        services = [one for one in arena.platform.platform.services if type(one).__name__ in {"Hub", "Feed"}]
        for service in services:
            service.startService()
        yield arena
        for service in services:
            service.stopService()
        arena.poller.stopService()
        arena.platform.close()

    def listen(self, arena: Arena, who: Any) -> Ear:
        """Somebody listens to kings."""
        return Ear(arena.platform, who, path="/events?channels=koth")

    def test_are_told_as_the_api_shows_them(self, arena: Arena) -> None:
        ear = self.listen(arena, arena.bob)
        (begin,) = ear.heard()
        assert begin.data["hills"] == [
            {"challenge_id": arena.hill, "name": "The Hill", "king": None, "since": None},
        ]
        arena.play(2)
        (change,) = ear.heard()
        (shown,) = arena.get()
        assert change.data == {name: shown[name] for name in ("challenge_id", "name", "king", "since")}
        arena.play(2)
        assert ear.heard() == []
        arena.agent.owner = "bob"
        arena.play(2)
        assert [one.data["king"]["name"] for one in ear.heard()] == ["bob"]

    def test_a_king_who_is_hidden_is_nobody_any_more(self, arena: Arena) -> None:
        arena.play(2)
        ears = [self.listen(arena, who) for who in (arena.bob, arena.admin)]
        for ear in ears:
            ear.news()

        def hide_ada(conn: Connection) -> None:
            conn.execute(update(users).where(users.c.name == "ada").values(hidden=True))
            touch(conn, "accounts")

        arena.platform.run(hide_ada)
        arena.platform.clock.advance(1)
        assert [one.data["king"] for one in ears[0].heard()] == [None]
        assert ears[1].heard() == []

    def test_a_hill_that_is_closed_is_gone(self, arena: Arena) -> None:
        ear = self.listen(arena, arena.bob)
        ear.news()
        arena.admin.patch(f"/api/v1/challenges/{arena.hill}", {"state": "hidden"})
        arena.platform.clock.advance(1)
        assert [one.data["hills"] for one in ear.heard()] == [[]]


def test_what_is_told_is_read_as_of_now(conn: Connection, now: datetime) -> None:
    assert read_solves(conn, now, 0).solves == ()
    assert set(read_solves(conn, now, 0).sights) == set(View)


def test_events_are_json(contest: Contest) -> None:
    ear = contest.listen(contest.admin, "solves,koth,scoreboard,notifications")
    assert all(json.dumps(one.data) for one in events_in(ear.body))
