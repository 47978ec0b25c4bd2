"""/api/v1/ctftime."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from ctfd_twisted.koth.tables import ticks
from ctfd_twisted.scoring.tables import awards
from ctfd_twisted.testing import Client, MemoryPlatform
from ctfd_twisted.testing.builders import a_challenge, a_flag, a_solve, a_team, a_user, an_award
from ctfd_twisted.testing.hills import a_hill

FEED = "/api/v1/ctftime"
Make = Callable[..., Any]
SECOND = timedelta(seconds=1)


def feed_of(client: Client) -> Any:
    """The feed as this client reads it."""
    return client.get(FEED).json


class TestStandings:
    """Who stands where, and what they have from which task."""

    def test_a_board_as_ctftime_asks_for_it(self, platform: MemoryPlatform, make: Make) -> None:
        ann, ben = make(a_user, name="ann"), make(a_user, name="ben")
        warmup, web = make(a_challenge, name="Warmup", value=70), make(a_challenge, name="Web", value=200)
        start = int(platform.now.timestamp())
        make(a_solve, warmup, ann, date=platform.now)
        make(a_solve, web, ann, date=platform.now + SECOND)
        make(a_solve, warmup, ben, date=platform.now + 2 * SECOND)
        make(an_award, ben, 5)
        answer = platform.client().get(FEED)
        assert answer.headers["content-type"] == "application/json"
        assert answer.json == {
            "tasks": ["Warmup", "Web"],
            "standings": [
                {
                    "pos": 1,
                    "team": "ann",
                    "score": 270,
                    "taskStats": {
                        "Warmup": {"points": 70, "time": start},
                        "Web": {"points": 200, "time": start + 1},
                    },
                    "lastAccept": start + 1,
                },
                {
                    "pos": 2,
                    "team": "ben",
                    "score": 75,
                    "taskStats": {"Warmup": {"points": 70, "time": start + 2}},
                    "lastAccept": start + 2,
                },
            ],
        }

    def test_it_is_the_whole_board(self, platform: MemoryPlatform, make: Make) -> None:
        challenge = make(a_challenge)
        for _ in range(120):
            make(a_solve, challenge, make(a_user))
        assert [line["pos"] for line in feed_of(platform.client())["standings"]] == list(range(1, 121))

    def test_where_teams_play_teams_stand(self, platform: MemoryPlatform, make: Make) -> None:
        platform.configure(user_mode="teams")
        team, challenge = make(a_team, name="Rot13"), make(a_challenge, name="Warmup")
        make(a_solve, challenge, make(a_user, team_id=team, hidden=True), team_id=team)
        make(a_solve, challenge, make(a_user))
        (line,) = feed_of(platform.client())["standings"]
        assert (line["team"], line["score"], list(line["taskStats"])) == ("Rot13", 100, ["Warmup"])

    def test_the_ticks_of_a_hill_are_one_task(self, platform: MemoryPlatform, make: Make) -> None:
        ann, hill = make(a_user, name="ann"), make(a_hill, name="Hill", reward=5)
        for tick in range(3):
            due = platform.now + tick * SECOND
            award = make(an_award, ann, 5, type="koth", date=due)
            paid = {"tick": tick, "due": due, "outcome": "held", "points": 5, "award_id": award, "challenge_id": hill}
            platform.run(lambda conn, paid=paid: conn.execute(ticks.insert().values(**paid)) and None)
        (line,) = feed_of(platform.client())["standings"]
        assert line["taskStats"] == {"Hill": {"points": 15, "time": int(platform.now.timestamp()) + 2}}

    def test_an_award_alone_is_no_task(self, platform: MemoryPlatform, make: Make) -> None:
        make(an_award, make(a_user, name="ann"), 5)
        assert feed_of(platform.client())["standings"] == [{"pos": 1, "team": "ann", "score": 5, "taskStats": {}}]

    def test_nobody_has_scored(self, platform: MemoryPlatform) -> None:
        assert feed_of(platform.client()) == {"tasks": [], "standings": []}

    def test_names_are_written_in_ascii(self, platform: MemoryPlatform, make: Make) -> None:
        make(an_award, make(a_user, name="Ünïcode 🚩"), 5)
        body = platform.client().get(FEED).body
        assert body.isascii()
        assert msgspec.json.decode(body)["standings"][0]["team"] == "Ünïcode 🚩"


class TestTasks:
    """Which challenges are named."""

    def test_the_unsolved_are_named_to_those_who_see_the_list(self, platform: MemoryPlatform, make: Make) -> None:
        make(a_solve, make(a_challenge, name="solved"), make(a_user))
        make(a_challenge, name="unsolved")
        seen = {"tasks": ["solved", "unsolved"]}
        assert feed_of(platform.client())["tasks"] == ["solved"]
        assert feed_of(platform.player("ann"))["tasks"] == seen["tasks"]
        platform.configure(challenge_visibility="public")
        assert feed_of(platform.client())["tasks"] == seen["tasks"]
        now = int(platform.now.timestamp())
        platform.configure(start=now + 60)
        assert feed_of(platform.client())["tasks"] == ["solved"]
        platform.configure(start=None, end=now - 60)
        assert feed_of(platform.client())["tasks"] == ["solved"]
        platform.configure(view_after_ctf=True)
        assert feed_of(platform.client())["tasks"] == seen["tasks"]

    def test_what_not_everybody_sees_by_name_is_no_task(self, platform: MemoryPlatform, make: Make) -> None:
        platform.configure(challenge_visibility="public")
        ann, first = make(a_user), make(a_challenge, name="first")
        needs: dict[str, Any] = {"prerequisites": [first]}
        kept = [
            make(a_challenge, state="hidden"),
            make(a_challenge, state="locked"),
            make(a_challenge, requirements=needs),
            make(a_challenge, requirements={**needs, "anonymize": True}),
            make(a_challenge, scheduled_at=platform.now + timedelta(hours=1)),
        ]
        make(a_challenge, name="preview", requirements={**needs, "anonymize": "preview"})
        for challenge in (first, *kept):
            make(a_solve, challenge, ann)
        feed = feed_of(platform.client())
        assert feed["tasks"] == ["first", "preview"]
        assert feed["standings"][0]["score"] == 600
        assert list(feed["standings"][0]["taskStats"]) == ["first"]

    def test_a_release_is_told_at_its_instant(self, platform: MemoryPlatform, make: Make) -> None:
        platform.configure(challenge_visibility="public")
        make(a_challenge, name="later", scheduled_at=platform.now + timedelta(hours=1))
        assert feed_of(platform.client())["tasks"] == []
        platform.clock.advance(3600)
        assert feed_of(platform.client())["tasks"] == ["later"]

    def test_a_name_that_two_have_is_told_with_the_ids(self, platform: MemoryPlatform, make: Make) -> None:
        ann, first, second = make(a_user), make(a_challenge, name="Warmup"), make(a_challenge, name="Warmup")
        make(a_solve, first, ann)
        make(a_solve, second, ann)
        feed = feed_of(platform.client())
        assert feed["tasks"] == [f"Warmup #{first}", f"Warmup #{second}"]
        assert list(feed["standings"][0]["taskStats"]) == feed["tasks"]


class TestWhoMayKnow:
    """Visibility, the hidden, and the freeze."""

    def test_the_hidden_and_the_banned_are_absent(self, platform: MemoryPlatform, make: Make) -> None:
        secret = make(a_challenge, name="only they have it")
        for flags in ({"hidden": True}, {"banned": True}):
            make(a_solve, secret, make(a_user, **flags))
        assert feed_of(platform.client()) == {"tasks": [], "standings": []}

    @pytest.mark.parametrize(
        ("setting", "value", "anonymous", "player"),
        [
            ("score_visibility", "private", 302, 200),
            ("score_visibility", "hidden", 403, 403),
            ("score_visibility", "admins", 404, 404),
            ("account_visibility", "private", 302, 200),
            ("account_visibility", "admins", 404, 404),
        ],
    )
    def test_who_may_ask(self, platform: MemoryPlatform, setting: str, value: str, anonymous: int, player: int) -> None:
        platform.configure(**{setting: value})
        assert platform.client().get(FEED).status == anonymous
        assert platform.player("ann").get(FEED).status == player
        assert platform.admin().get(FEED).status == 200

    def test_after_the_freeze_it_is_byte_for_byte_what_it_was(self, platform: MemoryPlatform, make: Make) -> None:
        platform.configure(challenge_visibility="public", freeze=int(platform.now.timestamp()) + 60)
        dynamic = make(a_challenge, name="a", dynamic={"function": "linear", "decay": 450}, value=500)
        static = make(a_challenge, name="b", value=300)
        for challenge in (dynamic, static):
            make(a_flag, challenge)

        def answers(name: str, challenge: int) -> None:
            answer = {"challenge_id": challenge, "submission": "flag{right}"}
            assert platform.player(name).post("/api/v1/challenges/attempt", answer).data["status"] == "correct"

        answers("ann", dynamic)
        asked = (platform.client(), platform.player("onlooker"), platform.admin())
        frozen = [client.get(FEED).body for client in asked]
        assert len(set(frozen)) == 1
        platform.clock.advance(60)
        answers("ben", dynamic)
        answers("ann", static)
        make(an_award, make(a_user), 1000, date=platform.now)
        assert platform.admin().get("/api/v1/challenges?view=admin").data[0]["name"] == "a"
        assert [client.get(FEED).body for client in asked] == frozen

    def test_what_moves_the_board_moves_it(self, platform: MemoryPlatform, make: Make) -> None:
        user = make(a_user, name="ann")
        make(an_award, user, 5)
        assert feed_of(platform.client())["standings"][0]["score"] == 5
        award = platform.run(lambda conn: conn.scalar(awards.select()))
        platform.admin().delete(f"/api/v1/awards/{award}")
        assert feed_of(platform.client())["standings"] == []

    def test_a_solve_and_an_award_show_at_once(self, platform: MemoryPlatform, make: Make) -> None:
        challenge = make(a_challenge, name="Warmup")
        make(a_flag, challenge)
        ann, reader = platform.player("ann"), platform.client()
        assert feed_of(reader)["standings"] == []
        ann.post("/api/v1/challenges/attempt", {"challenge_id": challenge, "submission": "flag{right}"})
        assert [line["score"] for line in feed_of(reader)["standings"]] == [100]
        user = ann.get("/api/v1/users/me").data["id"]
        platform.admin().post("/api/v1/awards", {"user_id": user, "name": "bonus", "value": 7})
        assert [line["score"] for line in feed_of(reader)["standings"]] == [107]
        platform.admin().patch(f"/api/v1/users/{user}", {"hidden": True})
        assert feed_of(reader) == {"tasks": [], "standings": []}
