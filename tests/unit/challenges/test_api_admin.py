"""POST, PATCH and DELETE of challenges, their lists of parts, and the types."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select

from ctfd_twisted.accounts.tables import users
from ctfd_twisted.challenges.tables import (
    challenge_topics,
    challenges,
    dynamic_challenge,
    files,
    flags,
    hints,
    modules,
    ratings,
    solutions,
    tags,
    topics,
)
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.scoring.tables import awards, solves, submissions, unlocks
from ctfd_twisted.testing import MemoryPlatform
from ctfd_twisted.testing.builders import a_challenge, a_flag, a_solve, a_submission, a_user, an_award

LIST = "/api/v1/challenges"
Make = Callable[..., Any]


def row(platform: MemoryPlatform, challenge_id: int) -> Any:
    return platform.run(lambda conn: conn.execute(select(challenges).where(challenges.c.id == challenge_id)).first())


def test_players_may_nothing_of_this(platform: MemoryPlatform, make: Make) -> None:
    ann, number = platform.player("ann"), make(a_challenge)
    assert ann.post(LIST, {"name": "x"}).status == 403
    for path in ("", "/requirements", "/flags", "/tags", "/files", "/hints", "/topics"):
        method = "DELETE" if path == "" else "GET"
        assert ann.request(method, f"{LIST}/{number}{path}").status == 403
    assert ann.patch(f"{LIST}/{number}", {"name": "x"}).status == 403
    assert ann.get(f"{LIST}/types").status == 403
    assert row(platform, number).name != "x"


def test_an_empty_body_makes_a_challenge_of_defaults(platform: MemoryPlatform) -> None:
    made = platform.admin().post(LIST, {}).data
    assert (made["state"], made["logic"], made["position"], made["max_attempts"], made["type"], made["function"]) == (
        "visible", "any", 0, 0, "standard", "static",
    )  # fmt: skip
    assert (made["name"], made["value"], made["initial"]) == (None, None, None)
    assert "requirements" not in made
    assert "module_id" not in made


def test_everything_that_is_sent_is_stored(platform: MemoryPlatform, make: Make) -> None:
    module, next_one = make(insert_row, modules, {"name": "module"}), make(a_challenge)
    body = {
        "name": "ünï", "category": "web", "description": "d", "attribution": "a", "connection_info": "c", "value": "50",
        "max_attempts": 3, "state": "hidden", "logic": "all", "position": 32_767, "next_id": next_one,
        "module_id": module, "scheduled_at": "2030-01-01T00:00:00+02:00",
        "requirements": {"prerequisites": [next_one], "anonymize": "preview", "own": 1}, "nonsense": [1], "tags": ["x"],
    }  # fmt: skip
    made = platform.admin().post(LIST, body).data
    assert made["value"] == 50
    assert made["scheduled_at"] == "2029-12-31T22:00:00"
    stored = row(platform, made["id"])
    assert (stored.module_id, stored.next_id, stored.requirements) == (module, next_one, body["requirements"])
    assert (stored.name, stored.state, stored.logic) == ("ünï", "hidden", "all")
    requirements = platform.admin().get(f"{LIST}/{made['id']}/requirements")
    assert requirements.data == body["requirements"]


def test_an_id_that_is_sent_is_used(platform: MemoryPlatform) -> None:
    admin = platform.admin()
    assert admin.post(LIST, {"id": 77}).data["id"] == 77
    assert admin.post(LIST, {"id": 77}).status == 500
    assert admin.post(LIST, {}).data["id"] == 78


def test_the_highest_id_is_one_like_others(platform: MemoryPlatform) -> None:
    admin, path = platform.admin(), f"{LIST}/{2**31 - 1}"
    admin.post(LIST, {"id": 2**31 - 1, "name": "last"})
    assert admin.get(path).data["name"] == "last"
    assert admin.patch(path, {"name": "first"}).data["name"] == "first"
    assert admin.delete(path).status == 200
    assert admin.get(f"{LIST}/{2**31}").status == 404
    for number in (0, -1, 2**31):
        assert admin.post(LIST, {"id": number}).errors == {"id": ["Not a valid integer."]}


def test_nothing_of_a_deleted_challenge_clings_to_its_id(platform: MemoryPlatform, make: Make) -> None:
    admin, ann = platform.admin(), platform.player("ann")
    later = make(a_challenge, id=1, requirements={"prerequisites": [2]})
    make(a_challenge, id=2)
    make(a_flag, 2)
    user = platform.run(lambda conn: conn.execute(select(users.c.id).where(users.c.name == "ann")).scalar())
    make(insert_row, ratings, {"user_id": user, "challenge_id": 2, "value": 1, "review": "", "date": platform.now})
    ann.post(f"{LIST}/attempt", {"challenge_id": 2, "submission": "flag{right}"})
    assert ann.get(f"{LIST}/2").data["rating"]
    assert admin.delete(f"{LIST}/2").status == 200
    assert admin.post(LIST, {"id": 2}).data["id"] == 2
    shown = ann.get(f"{LIST}/2").data
    assert (shown["solved_by_me"], shown["attempts"], shown["rating"]) == (False, 0, None)
    assert ann.get(f"{LIST}/{later}").status == 403


def test_a_dynamic_challenge(platform: MemoryPlatform) -> None:
    admin = platform.admin()
    made = admin.post(LIST, {"type": "dynamic", "initial": 500, "minimum": 100, "decay": 0, "function": "logarithmic"})
    assert (made.data["value"], made.data["decay"], made.data["function"]) == (500, 1, "logarithmic")
    stored = row(platform, made.data["id"])
    assert (stored.initial, stored.minimum, stored.decay, stored.function) == (None, None, None, "static")
    with_rest = platform.run(lambda conn: conn.execute(select(dynamic_challenge)).one())
    assert tuple(with_rest) == (made.data["id"], 500, 100, 1, "logarithmic")


def test_a_standard_challenge_that_decays(platform: MemoryPlatform) -> None:
    body = {"value": 90, "function": "linear", "minimum": 10, "decay": 5}
    made = platform.admin().post(LIST, body).data
    assert (made["value"], made["initial"], made["function"]) == (90, 90, "linear")


@pytest.mark.parametrize(
    ("body", "errors"),
    [
        ({"name": "x" * 81}, {"name": ["Challenge could not be saved. Challenge name too long"]}),
        ({"category": "x" * 81}, {"category": ["Challenge could not be saved. Challenge category too long"]}),
        ({"description": "x" * 65_536},
         {"description": ["Challenge could not be saved. Challenge description too long"]}),
        ({"position": -1}, {"position": ["Challenge could not be saved. Challenge position is invalid"]}),
        ({"position": 32_768}, {"position": ["Challenge could not be saved. Challenge position is invalid"]}),
        ({"requirements": [1]}, {"requirements": ["Error parsing challenge requirements"]}),
        ({"requirements": {"prerequisites": "x"}}, {"requirements": ["Error parsing challenge requirements"]}),
        ({"requirements": {"prerequisites": [1, None]}},
         {"requirements": ["Challenge requirements cannot have a null prerequisite"]}),
        ({"requirements": {"prerequisites": [0]}},
         {"requirements": ["Challenge requirements cannot have a null prerequisite"]}),
        ({"value": "x", "max_attempts": [], "initial": "", "minimum": {}, "decay": "1.5"},
         {name: ["Not a valid integer."] for name in ("value", "max_attempts", "initial", "minimum", "decay")}),
        ({"value": 2**31}, {"value": ["Not a valid integer."]}),
        ({"state": None, "logic": None, "position": None},
         {name: ["Field may not be null."] for name in ("state", "logic", "position")}),
        ({"name": 5}, {"name": ["Not a valid string."]}),
        ({"description": "a\x00"}, {"": ["Text must not hold the character U+0000"]}),
        ({"type": "x" * 81}, {"type": ["Longer than maximum length 80."]}),
        ({"function": "x" * 33}, {"function": ["Longer than maximum length 32."]}),
        ({"scheduled_at": ""}, {"scheduled_at": ["Not a valid datetime."]}),
        ({"scheduled_at": "tomorrow"}, {"scheduled_at": ["Not a valid datetime."]}),
        ({"scheduled_at": 5}, {"scheduled_at": ["Not a valid datetime."]}),
        ({"name": "x" * 81, "value": "x", "position": -1}, {
            "name": ["Challenge could not be saved. Challenge name too long"],
            "value": ["Not a valid integer."],
            "position": ["Challenge could not be saved. Challenge position is invalid"],
        }),
    ],
)  # fmt: skip
def test_wrong_fields_are_named_and_nothing_is_stored(
    platform: MemoryPlatform, make: Make, body: dict[str, Any], errors: dict[str, list[str]]
) -> None:
    admin, number = platform.admin(), make(a_challenge, name="kept")
    for reply in (admin.post(LIST, body), admin.patch(f"{LIST}/{number}", body)):
        assert (reply.status, reply.json) == (400, {"success": False, "errors": errors})
    (kept,) = platform.run(lambda conn: conn.execute(select(challenges)).all())
    assert (kept.name, kept.value) == ("kept", 100)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({"type": "dynamic"}, "Missing initial value for challenge"),
        ({"function": "linear"}, "Missing 'initial' but function is linear"),
        ({"function": "logarithmic", "value": 9, "minimum": 1}, "Missing 'decay' but function is logarithmic"),
        ({"type": "dynamic", "function": "linear", "initial": 9}, "Missing 'minimum' but function is linear"),
    ],
)
def test_a_decay_that_lacks_a_number(platform: MemoryPlatform, body: dict[str, Any], text: str) -> None:
    reply = platform.admin().post(LIST, body)
    assert (reply.status, reply.json) == (500, {"success": False, "errors": {"": [text]}})
    assert platform.admin().get(f"{LIST}?view=admin").data == []


@pytest.mark.parametrize("body", [{"type": "gone"}, {"next_id": 99}, {"module_id": 99}])
def test_what_does_not_exist_can_not_be_named(platform: MemoryPlatform, make: Make, body: dict[str, Any]) -> None:
    admin, number = platform.admin(), make(a_challenge)
    assert admin.post(LIST, body).status == 500
    assert admin.patch(f"{LIST}/{number}", body).status == 500
    assert [challenge["id"] for challenge in admin.get(f"{LIST}?view=admin").data] == [number]


def test_hill_settings_are_checked_before_anything_is_stored(platform: MemoryPlatform) -> None:
    reply = platform.admin().post(LIST, {"type": "koth", "name": "hill", "interval": 0, "reward": 10})
    assert reply.status == 400
    assert set(reply.errors) == {"url", "interval"}
    assert platform.admin().get(f"{LIST}?view=admin").data == []


class TestPatch:
    """A change of what is named alone."""

    def test_omitted_keys_keep_their_values_and_null_clears(self, platform: MemoryPlatform, make: Make) -> None:
        other = make(a_challenge, name="other")
        number = make(
            a_challenge, name="a", category="b", next_id=other, requirements={"prerequisites": [other]}, max_attempts=3
        )
        body = {"name": "c", "next_id": None, "requirements": None, "unknown": 1, "flags": ["x"]}
        changed = platform.admin().patch(f"{LIST}/{number}", body).data
        assert (changed["name"], changed["category"], changed["next_id"], changed["max_attempts"]) == (
            "c",
            "b",
            None,
            3,
        )
        assert platform.admin().get(f"{LIST}/{number}/requirements").data is None
        assert row(platform, other).name == "other"

    def test_the_id_stays(self, platform: MemoryPlatform, make: Make) -> None:
        number = make(a_challenge)
        assert platform.admin().patch(f"{LIST}/{number}", {"id": 999}).data["id"] == number

    def test_unknown_challenges_are_not_found(self, platform: MemoryPlatform) -> None:
        for path in ("999", "x"):
            assert platform.admin().patch(f"{LIST}/{path}", {"name": "x"}).status == 404
            assert platform.admin().delete(f"{LIST}/{path}").status == 404
            assert platform.admin().get(f"{LIST}/{path}/requirements").status == 404

    def test_a_changed_decay_changes_the_value_at_once(self, platform: MemoryPlatform, make: Make) -> None:
        number = make(a_challenge, dynamic={"function": "linear"}, value=500)
        for _ in range(3):
            make(a_solve, number, make(a_user))
        assert platform.admin().patch(f"{LIST}/{number}", {"decay": 50, "value": 7}).data["value"] == 400
        (line,) = platform.player("ann").get(LIST).data
        assert line["value"] == 400
        reply = platform.admin().patch(f"{LIST}/{number}", {"minimum": None})
        assert (reply.status, reply.errors) == (500, {"": ["Invalid input for 'minimum'"]})

    @pytest.mark.parametrize(
        "settings", [{"dynamic": {}}, {"function": "linear", "initial": 9, "minimum": 1, "decay": 2}]
    )
    def test_a_changed_decay_is_of_one_challenge(
        self, platform: MemoryPlatform, make: Make, settings: dict[str, Any]
    ) -> None:
        number, other = make(a_challenge, **settings), make(a_challenge, **settings)
        before = platform.admin().get(f"{LIST}/{other}").data
        assert platform.admin().patch(f"{LIST}/{number}", {"initial": 77, "decay": 3}).data["initial"] == 77
        assert platform.admin().get(f"{LIST}/{other}").data == before

    def test_a_static_value_moves_the_board_at_once(self, platform: MemoryPlatform, make: Make) -> None:
        number = make(a_challenge)
        make(a_solve, number, make(a_user))
        ann = platform.player("ann")
        assert ann.get("/api/v1/scoreboard").data[0]["score"] == 100
        platform.admin().patch(f"{LIST}/{number}", {"value": 30})
        assert ann.get("/api/v1/scoreboard").data[0]["score"] == 30

    def test_a_new_type_is_a_new_label(self, platform: MemoryPlatform, make: Make) -> None:
        number = make(a_challenge)
        changed = platform.admin().patch(f"{LIST}/{number}", {"type": "dynamic"}).data
        assert (changed["type"], changed["value"], changed["initial"]) == ("dynamic", 100, None)
        changed = platform.admin().patch(f"{LIST}/{number}", {"initial": 300, "scheduled_at": "2030-01-01T00:00:00Z"})
        assert (changed.data["value"], changed.data["scheduled_at"]) == (300, "2030-01-01T00:00:00")

    def test_players_see_a_change_at_once(self, platform: MemoryPlatform, make: Make) -> None:
        number, ann = make(a_challenge, state="hidden"), platform.player("ann")
        assert ann.get(LIST).data == []
        platform.admin().patch(f"{LIST}/{number}", {"state": "visible"})
        assert len(ann.get(LIST).data) == 1


def test_a_deleted_challenge_takes_what_hangs_on_it_and_nothing_else(platform: MemoryPlatform, make: Make) -> None:
    user = make(a_user)
    number = make(a_challenge, dynamic={})
    other = make(a_challenge, dynamic={}, next_id=number, requirements={"prerequisites": [number]})
    make(an_award, user, -5)
    for challenge in (number, other):
        make(a_flag, challenge)
        make(a_solve, challenge, user)
        for kind in ("incorrect", "partial", "discard", "ratelimited"):
            make(a_submission, challenge, user, type=kind)
        make(insert_row, tags, {"challenge_id": challenge, "value": "x"})
        make(insert_row, files, {"challenge_id": challenge, "type": "challenge", "location": f"{challenge}/b"})
        hint = make(insert_row, hints, {"challenge_id": challenge, "cost": 5})
        make(insert_row, unlocks, {"user_id": user, "target": hint, "type": "hints"})
        solution = make(insert_row, solutions, {"challenge_id": challenge, "state": "visible"})
        make(insert_row, files, {"solution_id": solution, "type": "solution", "location": f"{challenge}/d"})
        make(insert_row, unlocks, {"user_id": user, "target": solution, "type": "solutions"})
        topic = make(insert_row, topics, {"value": f"topic {challenge}"})
        make(insert_row, challenge_topics, {"challenge_id": challenge, "topic_id": topic})
        make(insert_row, ratings, {"challenge_id": challenge, "user_id": user, "value": 1})

    def left(table: Any) -> list[Any]:
        rows: list[Any] = platform.run(lambda conn: conn.execute(select(table)).all())
        return rows

    of_it = (flags, solves, submissions, tags, hints, solutions, challenge_topics, ratings)
    before = {table.name: left(table) for table in of_it}
    ann = platform.player("ann")
    assert ann.get("/api/v1/scoreboard").data[0]["score"] == 195

    assert platform.admin().delete(f"{LIST}/{number}").json == {"success": True}

    assert {table.name: left(table) for table in of_it} == {
        name: [row for row in rows if row.challenge_id == other] for name, rows in before.items()
    }
    assert [row.id for row in left(dynamic_challenge)] == [row.id for row in left(challenges)] == [other]
    assert [row.location for row in left(files)] == [f"{other}/b", f"{other}/d"]
    assert [(row.target, row.type) for row in left(unlocks)] == [(1, "hints"), (2, "hints"), (2, "solutions")]
    assert (len(left(awards)), len(left(topics))) == (1, 2)
    kept = row(platform, other)
    assert (kept.next_id, kept.requirements) == (None, {"prerequisites": [number]})
    assert [challenge["id"] for challenge in ann.get(LIST).data] == [other]
    assert ann.get("/api/v1/scoreboard").data[0]["score"] == 95


def test_the_parts_of_a_challenge(platform: MemoryPlatform, make: Make) -> None:
    number, admin = make(a_challenge), platform.admin()
    flag = make(a_flag, number, "flag{x}", data=None)
    tag = make(insert_row, tags, {"challenge_id": number, "value": "easy"})
    file = make(insert_row, files, {"challenge_id": number, "type": "challenge", "location": "a/b", "sha1sum": "00"})
    hint = make(insert_row, hints, {"challenge_id": number, "type": "standard", "content": "c", "cost": 1})
    topic = make(insert_row, topics, {"value": "topic"})
    link = make(insert_row, challenge_topics, {"challenge_id": number, "topic_id": topic})
    expected: dict[str, dict[str, Any]] = {
        "flags": {"id": flag, "challenge_id": number, "challenge": number, "type": "static", "content": "flag{x}",
                  "data": None},
        "tags": {"id": tag, "challenge_id": number, "value": "easy"},
        "files": {"id": file, "type": "challenge", "location": "a/b", "sha1sum": "00"},
        "hints": {"id": hint, "title": None, "type": "standard", "challenge_id": number, "challenge": number,
                  "content": "c", "cost": 1, "requirements": None},
        "topics": {"id": link, "challenge_id": number, "topic_id": topic, "value": "topic"},
    }  # fmt: skip
    for part, item in expected.items():
        assert admin.get(f"{LIST}/{number}/{part}").data == [item]
        assert admin.get(f"{LIST}/999/{part}").data == []
        assert admin.get(f"{LIST}/x/{part}").data == []


def test_the_types(platform: MemoryPlatform) -> None:
    types = platform.admin().get(f"{LIST}/types").data
    assert {"standard", "dynamic", "koth"} <= set(types)
    assert set(types["dynamic"]) == {"id", "name", "templates", "scripts", "create"}
    assert 'name="initial" required' in types["dynamic"]["create"]
