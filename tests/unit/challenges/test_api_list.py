"""GET /api/v1/challenges."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from ctfd_twisted.accounts.tables import audience_members, audiences, users
from ctfd_twisted.challenges.tables import module_audience_access, modules, tags
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.testing import Client, MemoryPlatform
from ctfd_twisted.testing.builders import a_challenge, a_flag, a_solve, a_team, a_user

LIST = "/api/v1/challenges"
Make = Callable[..., Any]


def ids(client: Client, query: str = "") -> list[int]:
    return [challenge["id"] for challenge in client.get(LIST + query).data]


def one(client: Client, challenge_id: int, query: str = "") -> dict[str, Any]:
    return next(challenge for challenge in client.get(LIST + query).data if challenge["id"] == challenge_id)


def test_an_item_has_the_fields_that_clients_know(platform: MemoryPlatform, make: Make) -> None:
    number = make(a_challenge, name="one", category="web", value=150, position=3)
    make(insert_row, tags, {"challenge_id": number, "value": "easy"})
    assert platform.player("ann").get(LIST).json == {
        "success": True,
        "data": [
            {
                "id": number,
                "type": "standard",
                "name": "one",
                "value": 150,
                "position": 3,
                "solves": 0,
                "solved_by_me": False,
                "category": "web",
                "tags": [{"value": "easy"}],
                "template": "/plugins/challenges/assets/view.html",
                "script": "/plugins/challenges/assets/view.js",
                "module_id": None,
            }
        ],
    }


def test_the_order_is_position_then_value_then_id(platform: MemoryPlatform, make: Make) -> None:
    last, second, first, third = (
        make(a_challenge, position=0, value=1),
        make(a_challenge, position=1, value=20),
        make(a_challenge, position=1, value=10),
        make(a_challenge, position=2, value=1),
    )
    assert ids(platform.player("ann")) == [first, second, third, last]


def test_players_see_what_is_open_to_them_alone(platform: MemoryPlatform, make: Make) -> None:
    shown = make(a_challenge)
    hidden = [
        make(a_challenge, state="hidden"),
        make(a_challenge, state="locked"),
        make(a_challenge, scheduled_at=platform.now + timedelta(hours=1)),
        make(a_challenge, module_id=make(insert_row, modules, {"name": "module"})),
        make(a_challenge, requirements={"prerequisites": [shown]}),
    ]
    assert ids(platform.player("ann")) == [shown]
    assert ids(platform.player("ann"), "?view=admin") == [shown]
    assert ids(platform.admin()) == [shown]
    assert ids(platform.admin(), "?view=user") == [shown]
    assert ids(platform.admin(), "?view=admin") == [shown, *hidden]


def test_a_kind_that_is_not_installed_is_left_out(platform: MemoryPlatform, make: Make) -> None:
    make(a_challenge, type="gone")
    assert ids(platform.player("ann")) == ids(platform.admin(), "?view=admin") == []


def test_a_scheduled_challenge_appears_at_its_instant_without_any_write(platform: MemoryPlatform, make: Make) -> None:
    ann = platform.player("ann")
    number = make(a_challenge, scheduled_at=platform.now + timedelta(seconds=10))
    assert ids(ann) == []
    platform.clock.advance(9.99)
    assert ids(ann) == []
    platform.clock.advance(0.01)
    assert ids(ann) == [number]


def test_a_module_is_shown_to_its_audience(platform: MemoryPlatform, make: Make) -> None:
    ann, ben = platform.player("ann"), platform.player("ben")
    module = make(insert_row, modules, {"name": "module"})
    audience = make(insert_row, audiences, {"name": "audience", "type": "standard"})
    make(insert_row, module_audience_access, {"module_id": module, "audience_id": audience})
    user = platform.run(lambda conn: conn.execute(users.select().where(users.c.name == "ann")).one().id)
    make(insert_row, audience_members, {"audience_id": audience, "user_id": user})
    number = make(a_challenge, module_id=module)
    assert ids(ann) == [number]
    assert ids(ben) == []


def test_solves_open_what_they_are_required_for(platform: MemoryPlatform, make: Make) -> None:
    ann, first = platform.player("ann"), make(a_challenge)
    make(a_flag, first)
    second = make(a_challenge, requirements={"prerequisites": [first, 1_000_000]})
    assert ids(ann) == [first]
    ann.post(f"{LIST}/attempt", {"challenge_id": first, "submission": "flag{right}"})
    assert ids(ann) == [first, second]
    assert one(ann, first)["solved_by_me"] is True
    assert ids(platform.player("ben")) == [first]


@pytest.mark.parametrize(
    ("anonymize", "shown"),
    [
        (True, {"name": "???", "category": "???", "value": 0, "tags": []}),
        ("false", {"name": "???", "category": "???", "value": 0, "tags": []}),
        ("preview", {"name": "second", "category": "web", "value": 70, "tags": [{"value": "easy"}]}),
    ],
)
def test_a_placeholder_tells_what_it_may(
    platform: MemoryPlatform, make: Make, anonymize: object, shown: dict[str, Any]
) -> None:
    first = make(a_challenge)
    second = make(
        a_challenge,
        name="second",
        category="web",
        value=70,
        requirements={"prerequisites": [first], "anonymize": anonymize},
    )
    make(insert_row, tags, {"challenge_id": second, "value": "easy"})
    assert one(platform.player("ann"), second) == {
        "id": second,
        "type": "hidden",
        "solves": None,
        "solved_by_me": False,
        "template": "",
        "script": "",
        **shown,
    }
    assert one(platform.admin(), second)["type"] == "hidden"
    assert one(platform.admin(), second, "?view=admin")["name"] == "second"


def test_the_place_of_a_placeholder_does_not_tell_its_value(platform: MemoryPlatform, make: Make) -> None:
    first = make(a_challenge, value=100)
    secret = make(a_challenge, value=500, requirements={"prerequisites": [first], "anonymize": True})
    assert ids(platform.player("ann")) == [secret, first]


class TestFilters:
    """What a caller does not see of a challenge can't be searched for."""

    @pytest.fixture(autouse=True)
    def challenges(self, make: Make) -> None:
        first = make(a_challenge, id=1, name="Alpha", category="web", value=10, description="about cookies")
        make(a_challenge, id=2, name="Beta", category="crypto", value=20, max_attempts=3, position=5)
        needs = {"prerequisites": [first], "anonymize": True}
        make(a_challenge, id=3, name="Gamma", category="web", description="about cookies", requirements=needs)
        make(a_challenge, id=4, name="Delta", category="web", state="hidden")

    @pytest.mark.parametrize(
        ("query", "players", "admins"),
        [
            ("?name=Alpha", [1], [1]),
            ("?category=web", [1], [1, 3, 4]),
            ("?value=20", [2], [2]),
            ("?max_attempts=3", [2], [2]),
            ("?type=standard", [2, 1], [2, 1, 3, 4]),
            ("?type=hidden", [], []),
            ("?state=hidden", [], [4]),
            ("?name=Gamma", [], [3]),
            ("?q=cook&field=description", [1], [1, 3]),
            ("?q=a%25a&field=name", [1], [1, 3]),
            ("?q=%3F&field=name", [3], []),
            ("?q=web", [2, 3, 1], [2, 1, 3, 4]),
            ("?q=&field=description", [2, 3, 1], [2, 1, 3, 4]),
            ("?nonsense=1", [2, 3, 1], [2, 1, 3, 4]),
        ],
    )
    def test_filters(self, platform: MemoryPlatform, query: str, players: list[int], admins: list[int]) -> None:
        assert ids(platform.player("ann"), query) == players
        assert ids(platform.admin(), f"{query}&view=admin") == admins

    @pytest.mark.parametrize(
        ("query", "errors"),
        [
            ("?value=x&max_attempts=y", {"value": "value is not a valid integer",
                                         "max_attempts": "value is not a valid integer"}),
            ("?field=flags", {"field": "value is not a valid enumeration member; permitted: "
                                       "'name', 'description', 'category', 'type', 'state'"}),
        ],
    )  # fmt: skip
    def test_wrong_filters(self, platform: MemoryPlatform, query: str, errors: dict[str, str]) -> None:
        reply = platform.player("ann").get(LIST + query)
        assert (reply.status, reply.json) == (400, {"success": False, "errors": errors})


class TestWhoMayAsk:
    """The gates."""

    def test_strangers_are_sent_away_unless_challenges_are_public(self, platform: MemoryPlatform, make: Make) -> None:
        make(a_challenge)
        stranger = platform.client()
        assert stranger.get(LIST).location == "/login?next=%2Fapi%2Fv1%2Fchallenges%3F"
        assert stranger.get(LIST, content_type="application/json").status == 403
        platform.configure(challenge_visibility="public")
        assert len(stranger.get(LIST).data) == 1

    def test_before_the_start_players_are_refused(self, platform: MemoryPlatform, make: Make) -> None:
        make(a_challenge)
        platform.configure(start=int(platform.now.timestamp()) + 60)
        ann = platform.player("ann")
        assert ann.get(LIST).json == {"message": "Test CTF has not started yet"}
        assert len(platform.admin().get(LIST).data) == 1
        platform.clock.advance(61)
        assert len(ann.get(LIST).data) == 1

    def test_after_the_end_players_are_refused_unless_they_may_look_on(
        self, platform: MemoryPlatform, make: Make
    ) -> None:
        make(a_challenge)
        platform.configure(end=int(platform.now.timestamp()) + 60)
        ann = platform.player("ann")
        platform.clock.advance(61)
        assert ann.get(LIST).json == {"message": "Test CTF has ended"}
        platform.configure(view_after_ctf=True)
        assert len(ann.get(LIST).data) == 1

    def test_an_unverified_player_is_refused_where_addresses_are_verified(self, platform: MemoryPlatform) -> None:
        platform.configure(verify_emails=True)
        assert platform.player("ann", verified=False).get(LIST).status == 403

    def test_where_teams_play_a_player_needs_one(self, platform: MemoryPlatform, make: Make) -> None:
        platform.configure(user_mode="teams", challenge_visibility="public")
        make(a_challenge)
        assert platform.player("ann").get(LIST).status == 403
        assert len(platform.admin().get(LIST).data) == 1
        assert len(platform.client().get(LIST).data) == 1
        assert len(platform.player("ben", team_id=make(a_team)).get(LIST).data) == 1


class TestCounts:
    """How many have solved it, and what it is worth."""

    def test_the_hidden_and_the_banned_do_not_count(self, platform: MemoryPlatform, make: Make) -> None:
        number = make(a_challenge)
        for columns in ({}, {"hidden": True}, {"banned": True}):
            make(a_solve, number, make(a_user, **columns))
        assert one(platform.player("ann"), number)["solves"] == 1

    @pytest.mark.parametrize(
        ("setting", "value", "player", "admin"),
        [
            ("score_visibility", "hidden", None, None),
            ("score_visibility", "admins", None, 1),
            ("score_visibility", "private", 1, 1),
            ("account_visibility", "admins", None, 1),
        ],
    )
    def test_counts_are_null_where_scores_or_accounts_are_not_shown(
        self, platform: MemoryPlatform, make: Make, setting: str, value: str, player: int | None, admin: int | None
    ) -> None:
        number = make(a_challenge)
        make(a_solve, number, make(a_user))
        platform.configure(**{setting: value})
        assert one(platform.player("ann"), number)["solves"] == player
        assert one(platform.admin(), number)["solves"] == admin

    def test_after_the_freeze_the_list_is_byte_for_byte_what_it_was(self, platform: MemoryPlatform, make: Make) -> None:
        number = make(a_challenge, dynamic={"function": "linear"}, value=500)
        make(a_flag, number)
        freeze = int(platform.now.timestamp()) + 60
        platform.configure(freeze=freeze, challenge_visibility="public")
        platform.player("ann").post(f"{LIST}/attempt", {"challenge_id": number, "submission": "flag{right}"})
        onlooker = platform.player("onlooker")
        frozen = onlooker.get(LIST).body
        platform.clock.advance(60)
        for name in ("ben", "cleo"):
            platform.player(name).post(f"{LIST}/attempt", {"challenge_id": number, "submission": "flag{right}"})
        assert onlooker.get(LIST).body == frozen
        seen_by_solver = one(platform.player("cleo"), number)
        assert (seen_by_solver["value"], seen_by_solver["solves"], seen_by_solver["solved_by_me"]) == (500, 1, True)
        seen_by_admin = one(platform.admin(), number, "?view=admin")
        assert (seen_by_admin["value"], seen_by_admin["solves"]) == (480, 3)
