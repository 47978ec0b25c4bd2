"""GET /events?channels=…: scoreboard, solves, kings and notifications, with ids that mean the same on every node."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Connection, delete, update

from ctfd_twisted.accounts.tables import users
from ctfd_twisted.competition.store import write_config
from ctfd_twisted.db.notices import EVERYTHING, touch
from ctfd_twisted.live import hub as hubs
from ctfd_twisted.live.stream import QUEUE
from ctfd_twisted.scoring.tables import submissions
from ctfd_twisted.webhooks.tables import events, sequence
from tests.unit.live.contest import Contest, account
from tests.unit.live.ear import Ear

ALL = "scoreboard,solves,koth,notifications"
NOTICES = "/api/v1/notifications"


@pytest.fixture
def contest() -> Iterator[Contest]:
    contest = Contest()
    yield contest
    contest.close()


def test_it_begins_with_how_everything_stands(contest: Contest) -> None:
    ann, ben = contest.platform.player("ann"), contest.platform.player("ben")
    contest.solve(ann, contest.challenge("one"), "one")
    contest.admin.post(NOTICES, {"title": "before"})
    ear = contest.listen(ben, ALL)
    assert (ear.status, ear.headers["content-type"]) == (200, "text/event-stream")
    assert (ear.headers["x-accel-buffering"], ear.headers["cache-control"]) == ("no", "no-cache")
    assert ear.body.startswith("retry:")
    solves, hills, board = ear.heard()
    assert (solves.name, hills.name, board.name) == ("snapshot", "snapshot", "snapshot")
    assert board.data == {
        "channel": "scoreboard",
        "visible": True,
        "rows": [{"place": 1, "account_id": account(ann), "name": "ann", "score": 100, "bracket_id": None}],
    }
    assert [solve["challenge"]["name"] for solve in solves.data["solves"]] == ["one"]
    assert hills.data == {"channel": "koth", "visible": True, "hills": []}
    assert ear.last_id == board.id


def test_a_solve_and_the_rows_that_moved_are_told(contest: Contest) -> None:
    ann, ben = contest.platform.player("ann"), contest.platform.player("ben")
    one, two = contest.challenge("one"), contest.challenge("two")
    contest.solve(ann, one, "one")
    contest.solve(ben, one, "one")
    ear = contest.listen(ann, "scoreboard,solves")
    ear.news()
    contest.solve(ben, two, "two")
    solve, board = contest.later(ear)
    assert solve.name == "solve"
    assert solve.data["account_id"] == account(ben)
    assert solve.data["user"] == {"id": account(ben), "name": "ben"}
    assert solve.data["challenge"] == {"id": two, "name": "two", "category": "c"}
    assert solve.data["first_blood"] is True
    assert board.name == "scoreboard"
    row = {"place": 1, "account_id": account(ben), "name": "ben", "score": 200, "bracket_id": None}
    assert board.data == {"rows": [row], "gone": []}
    assert contest.later(ear) == []


def test_a_rush_is_told_together(contest: Contest) -> None:
    players = [contest.platform.player(name) for name in ("ann", "ben", "cy", "dee")]
    number = contest.challenge("one")
    ear = contest.listen(players[0], "scoreboard")
    contest.pass_time()
    ear.news()
    for player in players:
        contest.solve(player, number, "one")
    # The first is told at once; what comes within half a second of it is one change.
    assert len(contest.later(ear)) == 2


def test_only_what_was_asked_for_is_told(contest: Contest) -> None:
    ann = contest.platform.player("ann")
    number = contest.challenge("one")
    ear = contest.listen(ann, "notifications")
    assert ear.heard() == []
    contest.solve(ann, number, "one")
    made = contest.admin.post(NOTICES, {"title": "t"}).data
    heard = contest.later(ear)
    assert [(one.name, one.data) for one in heard] == [("notification", made)]


def test_a_beat_is_a_comment_every_15_seconds(contest: Contest) -> None:
    ear = contest.listen(contest.platform.player("ann"), "notifications")
    ear.news()
    contest.pass_time(60)
    assert ear.news() == ":\n\n" * 4


@pytest.mark.parametrize("channels", ["scores", "solves,nothing", "", "solves,"])
def test_a_channel_that_there_is_not_is_named(contest: Contest, channels: str) -> None:
    ear = contest.listen(contest.platform.player("ann"), channels)
    assert ear.status == 400
    assert "There is no channel" in ear.transport.value().decode()


class TestResume:
    """Somebody comes back with the id of what they heard last."""

    def test_by_header_or_query_what_was_missed_is_told_and_nothing_twice(self, contest: Contest) -> None:
        ann = contest.platform.player("ann")
        numbers = [contest.challenge(name) for name in ("one", "two", "three")]
        ear = contest.listen(ann, "scoreboard,solves,notifications")
        contest.solve(ann, numbers[0], "one")
        contest.admin.post(NOTICES, {"title": "first"})
        contest.pass_time()
        ear.leave()
        assert contest.listen(ann, "scoreboard,solves,notifications", ear.last_id).heard() == []
        other = contest.listen(ann, "scoreboard,solves,notifications")
        contest.solve(ann, numbers[1], "two")
        contest.admin.post(NOTICES, {"title": "second"})
        contest.pass_time()
        contest.solve(ann, numbers[2], "three")
        contest.pass_time()
        expected = [one for one in other.heard() if one.name != "snapshot"]
        by_header = contest.listen(ann, "scoreboard,solves,notifications", ear.last_id)
        by_query = Ear(
            contest.platform, ann,
            path=f"/events?channels=scoreboard,solves,notifications&last_event_id={ear.last_id}",
        )  # fmt: skip
        again = by_header.heard()
        assert sorted((one.name, str(one.data)) for one in again) == sorted(
            (one.name, str(one.data)) for one in expected
        )
        assert [one.data["title"] for one in again if one.name == "notification"] == ["second"]
        assert by_query.heard() == again
        assert by_header.last_id == other.last_id

    def test_each_id_says_how_far_it_brings(self, contest: Contest) -> None:
        ann = contest.platform.player("ann")
        numbers = [contest.challenge(name) for name in ("one", "two", "three")]
        ear = contest.listen(ann, "solves")
        begin = ear.last_id
        for number, name in zip(numbers, ("one", "two", "three"), strict=True):
            contest.solve(ann, number, name)
            contest.pass_time()
        missed = contest.listen(ann, "solves", begin).heard()
        for place, one in enumerate(missed, 1):
            assert contest.listen(ann, "solves", one.id).heard() == missed[place:]

    def test_on_a_node_that_has_just_begun(self, contest: Contest) -> None:
        ann = contest.platform.player("ann")
        numbers = [contest.challenge(name) for name in ("one", "two")]
        ear = contest.listen(ann, ALL)
        contest.solve(ann, numbers[0], "one")
        contest.pass_time()
        contest.solve(ann, numbers[1], "two")
        contest.pass_time()
        first, second = (one for one in ear.heard() if one.name == "solve")
        node = contest.another_node()
        there = Ear(node, ann, path=f"/events?channels={ALL}", headers={"Last-Event-ID": first.id})
        names = [one.name for one in there.heard()]
        assert names.count("solve") == 1  # the second
        assert names.count("snapshot") == 1  # the board of then is nothing that this node knows
        late = Ear(node, ann, path=f"/events?channels={ALL}", headers={"Last-Event-ID": ear.last_id})
        assert late.heard() == []
        assert second.id.split(".")[1] in late.last_id

    @pytest.mark.parametrize("lost", ["nonsense", "9.9.9", "1:1.99999.x.x", "-1.-1.-1.-1", "x.x.x.x"])
    def test_where_nothing_can_be_resumed_all_is_told_anew(self, contest: Contest, lost: str) -> None:
        ann = contest.platform.player("ann")
        contest.solve(ann, contest.challenge("one"), "one")
        contest.admin.post(NOTICES, {"title": "t"})
        heard = contest.listen(ann, ALL, lost).heard()
        assert [one.data["channel"] for one in heard] == ["notifications", "solves", "koth", "scoreboard"]
        assert [one["title"] for one in heard[0].data["notifications"]] == ["t"]

    def test_an_id_that_was_given_away_again_is_no_place(self, contest: Contest) -> None:
        ann = contest.platform.player("ann")
        contest.admin.post(NOTICES, {"title": "first"})
        first = contest.listen(ann, "notifications").last_id
        contest.admin.delete(f"{NOTICES}/1")
        contest.platform.clock.advance(1)
        contest.admin.post(NOTICES, {"title": "second"})
        (heard,) = contest.listen(ann, "notifications", first).heard()
        assert [one["title"] for one in heard.data["notifications"]] == ["second"]

    def test_another_database_in_its_place_is_told_anew(self, contest: Contest) -> None:
        ann = contest.platform.player("ann")
        contest.solve(ann, contest.challenge("one"), "one")
        ear = contest.listen(ann, "solves")
        ear.news()

        def replace(conn: Connection) -> None:
            conn.execute(delete(events))
            conn.execute(update(sequence).values(seq=0))
            conn.execute(delete(submissions))
            touch(conn, EVERYTHING)

        contest.platform.run(replace)
        (heard,) = contest.later(ear)
        assert heard.data == {"channel": "solves", "visible": True, "solves": []}


class TestSlowReaders:
    """Who does not read costs no more for it."""

    def test_is_told_later_what_waits(self, contest: Contest) -> None:
        ear = contest.listen(contest.platform.player("ann"), "notifications")
        ear.stop_reading()
        for _ in range(QUEUE):
            contest.admin.post(NOTICES, {})
        assert ear.heard() == []
        ear.read_on()
        assert len(ear.heard()) == QUEUE

    def test_is_told_how_everything_stands_after_too_much(self, contest: Contest) -> None:
        ann = contest.platform.player("ann")
        ear = contest.listen(ann, "notifications,scoreboard")
        ear.news()
        ear.stop_reading()
        for _ in range(QUEUE + 3):
            contest.admin.post(NOTICES, {})
        contest.solve(ann, contest.challenge("one"), "one")
        contest.pass_time()
        ear.read_on()
        notices, board = ear.heard()
        assert len(notices.data["notifications"]) == QUEUE + 3
        assert [row["score"] for row in board.data["rows"]] == [100]
        contest.admin.post(NOTICES, {"title": "next"})
        (heard,) = ear.heard()
        assert heard.data["title"] == "next"

    def test_is_not_waited_for_for_ever(self, contest: Contest) -> None:
        ear = contest.listen(contest.platform.player("ann"), "notifications")
        ear.stop_reading()
        contest.pass_time(4 * hubs.REST)
        assert ear.transport.disconnecting
        ear.leave()
        assert not list(contest.hub.streams())


class TestTheEndOfAStream:
    """A stream ends with the right to listen."""

    def test_who_does_not_hang_up_is_cut_off(self, contest: Contest) -> None:
        ear = contest.listen(contest.platform.player("ann"), "solves")
        cut: list[bool] = []
        ear.transport.abortConnection = lambda: cut.append(True)  # type: ignore[method-assign]
        contest.hub.stopService()
        assert (ear.complete, cut) == (True, [])
        contest.pass_time(2)
        assert cut == [True]

    def test_with_a_ban(self, contest: Contest) -> None:
        ann, ben = contest.platform.player("ann"), contest.platform.player("ben")
        ears = [contest.listen(ann, "solves"), Ear(contest.platform, ann)]
        other = contest.listen(ben, "solves")
        contest.admin.patch(f"/api/v1/users/{account(ann)}", {"banned": True})
        contest.pass_time(6)
        assert [ear.complete for ear in ears] == [True, True]
        assert not other.complete

    def test_with_the_token(self, contest: Contest) -> None:
        ann = contest.platform.player("ann")
        ear = contest.listen(ann, "solves")
        number = ann.get("/api/v1/tokens").data[0]["id"]
        ann.delete(f"/api/v1/tokens/{number}")
        contest.pass_time(6)
        assert ear.complete

    def test_with_the_session(self, contest: Contest) -> None:
        contest.platform.player("ann")
        contest.admin.patch(f"/api/v1/users/{account(contest.platform.player('ann'))}", {"password": "a password"})
        browser, other = contest.platform.client(), contest.platform.client()
        for one in (browser, other):
            one.submit("/login", name="ann", password="a password")
        ears = [
            Ear(contest.platform, path="/events?channels=solves",
                headers={"Cookie": "; ".join(f"{name}={value}" for name, value in one.cookies.items())})
            for one in (browser, other)
        ]  # fmt: skip
        assert [ear.status for ear in ears] == [200, 200]
        browser.get("/logout")
        contest.pass_time(6)
        assert [ear.complete for ear in ears] == [True, False]
        contest.admin.patch(f"/api/v1/users/{account(contest.platform.player('ann'))}", {"password": "another one"})
        contest.pass_time(6)
        assert ears[1].complete

    def test_somebody_who_becomes_an_administrator_sees_as_one(self, contest: Contest) -> None:
        ann, ghost = contest.platform.player("ann"), contest.platform.player("ghost", hidden=True)
        contest.solve(ghost, contest.challenge("one"), "one")
        ear = contest.listen(ann, "solves")
        assert ear.heard()[0].data["solves"] == []

        def promote(conn: Connection) -> None:
            conn.execute(update(users).where(users.c.name == "ann").values(type="admin"))
            touch(conn, "accounts")

        contest.platform.run(promote)
        contest.pass_time(6)
        assert [solve["user"]["name"] for solve in ear.heard()[-1].data["solves"]] == ["ghost"]


def test_settings_change_what_is_told(contest: Contest) -> None:
    ann = contest.platform.player("ann")
    contest.solve(ann, contest.challenge("one"), "one")
    ear = contest.listen(ann, "scoreboard,solves")
    assert [one.data["visible"] for one in ear.heard()] == [True, True]
    contest.platform.run(write_config, {"score_visibility": "admins"})
    assert {one.data["channel"]: one.data["visible"] for one in contest.later(ear)} == {
        "scoreboard": False,
        "solves": False,
    }
    contest.solve(ann, contest.challenge("two"), "two")
    assert contest.later(ear) == []
    contest.platform.run(write_config, {"score_visibility": "public"})
    heard = {one.data["channel"]: one.data for one in contest.later(ear)}
    assert [row["score"] for row in heard["scoreboard"]["rows"]] == [200]
    assert len(heard["solves"]["solves"]) == 2
