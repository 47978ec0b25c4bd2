"""/api/v1/configs."""

from typing import Any

import pytest

from ctfd_twisted.competition.tables import config
from ctfd_twisted.db.notices import EVERYTHING, touch
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.testing import Client, MemoryPlatform
from ctfd_twisted.testing.builders import a_challenge, a_solve, a_team, a_user

CONFIGS = "/api/v1/configs"


def stored(client: Client) -> dict[str, str | None]:
    return {row["key"]: row["value"] for row in client.get(CONFIGS).data}


def test_all_of_it_is_for_administrators(platform: MemoryPlatform) -> None:
    ann = platform.player("ann")
    replies = (
        ann.get(CONFIGS),
        ann.post(CONFIGS, {"key": "ctf_name", "value": "Mine"}),
        ann.patch(CONFIGS, {"ctf_name": "Mine"}),
        ann.get(f"{CONFIGS}/ctf_name"),
        ann.patch(f"{CONFIGS}/ctf_name", {"value": "Mine"}),
        ann.delete(f"{CONFIGS}/ctf_name"),
    )
    assert [reply.status for reply in replies] == [403] * 6
    assert platform.client().get(CONFIGS).location == "/login?next=%2Fapi%2Fv1%2Fconfigs%3F"


def test_values_are_texts_or_null(platform: MemoryPlatform) -> None:
    admin = platform.admin()
    values = {"a": 5, "b": True, "c": False, "d": None, "e": "", "f": " text ", "g": 1.5, "end": 4102444800}
    assert admin.patch(CONFIGS, values).json == {"success": True}
    expected = {"a": "5", "b": "1", "c": "0", "d": None, "e": "", "f": " text ", "g": "1.5", "end": "4102444800"}
    assert {key: stored(admin)[key] for key in values} == expected
    shown = admin.get(f"{CONFIGS}/b").data
    assert shown == {"id": shown["id"], "key": "b", "value": "1"}


def test_many_are_changed_at_once_or_none(platform: MemoryPlatform) -> None:
    admin = platform.admin()
    before = stored(admin)
    for value in ("x" * 65_536, ["x"], {"x": 1}):
        reply = admin.patch(CONFIGS, {"ctf_name": "New", "ctf_logo": value})
        assert (reply.status, list(reply.errors)) == (400, ["value"])
    assert reply.errors == {"value": ["ctf_logo config is no text, number or boolean"]}
    assert stored(admin) == before
    assert admin.patch(CONFIGS, {}).json == {"success": True}
    assert admin.patch(CONFIGS, {"ctf_name": "New", "ctf_logo": "x" * 65_535}).status == 200
    assert stored(admin)["ctf_name"] == "New"


def test_one_is_set_and_set_again(platform: MemoryPlatform) -> None:
    admin = platform.admin()
    made = admin.post(CONFIGS, {"key": "theme", "value": 7}).data
    assert (made["key"], made["value"]) == ("theme", "7")
    assert admin.post(CONFIGS, {"key": "theme", "value": None}).data == {**made, "value": None}
    assert admin.patch(f"{CONFIGS}/theme", {"value": "x"}).data == {**made, "value": "x"}
    assert admin.patch(f"{CONFIGS}/theme", {}).data == {**made, "value": "x"}
    assert admin.patch(f"{CONFIGS}/other", {"key": "ignored", "value": True}).data["value"] == "1"
    assert "ignored" not in stored(admin)


def test_what_is_missing_or_too_long_is_told(platform: MemoryPlatform) -> None:
    admin = platform.admin()
    missing = ["Missing data for required field."]
    assert admin.post(CONFIGS, {}).errors == {"key": missing, "value": missing}
    assert admin.post(CONFIGS, {"key": 5, "value": 5}).errors == {"key": ["Not a valid string."]}
    assert admin.patch(f"{CONFIGS}/new", {"key": "new"}).errors == {"value": missing}
    for reply in (
        admin.post(CONFIGS, {"key": "new", "value": "x" * 65_536}),
        admin.patch(f"{CONFIGS}/new", {"value": "x" * 65_536}),
        admin.patch(CONFIGS, {"new": "x" * 65_536}),
    ):
        assert (reply.status, reply.errors) == (400, {"value": ["new config is too long"]})
    assert admin.patch(f"{CONFIGS}/ctf_name", {"value": "x" * 65_536}).status == 400
    assert admin.patch(CONFIGS, ["x"]).status == 500


def test_a_setting_is_renamed_to_a_free_name(platform: MemoryPlatform) -> None:
    admin = platform.admin()
    before = admin.post(CONFIGS, {"key": "old", "value": "x"}).data
    assert admin.patch(f"{CONFIGS}/old", {"key": "old"}).data == before
    assert admin.patch(f"{CONFIGS}/old", {"key": "new"}).data == {**before, "key": "new"}
    assert admin.patch(f"{CONFIGS}/new", {"key": "newer", "value": "y"}).data["value"] == "y"
    assert admin.get(f"{CONFIGS}/old").status == 404
    assert admin.patch(f"{CONFIGS}/newer", {"key": "ctf_name"}).errors == {"key": ["ctf_name config exists already"]}


def test_what_is_removed_has_its_default_again(platform: MemoryPlatform) -> None:
    admin = platform.admin()
    # As CTFd may have stored it: twice.
    platform.run(insert_row, config, {"key": "ctf_name", "value": "Second"})
    assert admin.get(f"{CONFIGS}/ctf_name").data["value"] == "Test CTF"
    assert "Test CTF" in platform.client().get("/login").text
    assert admin.delete(f"{CONFIGS}/ctf_name").json == {"success": True}
    assert "Test CTF" not in platform.client().get("/login").text
    for reply in (admin.get(f"{CONFIGS}/ctf_name"), admin.delete(f"{CONFIGS}/ctf_name")):
        assert reply.status == 404


def test_settings_are_found(platform: MemoryPlatform) -> None:
    admin = platform.admin()
    admin.patch(CONFIGS, {"mail_password": "secret", "mail_server": "mail.example"})

    def found(query: str) -> list[str]:
        return [row["key"] for row in admin.get(f"{CONFIGS}?{query}").data]

    assert found("key=mail_password") == found("value=secret") == ["mail_password"]
    assert found("q=mail&field=key") == ["mail_password", "mail_server"]
    assert found("q=example&field=value") == ["mail_server"]
    assert admin.get(f"{CONFIGS}?field=id").errors == {
        "field": "value is not a valid enumeration member; permitted: 'key', 'value'"
    }


@pytest.mark.parametrize("way", ["bulk", "one", "post"])
def test_every_change_takes_effect_at_once(platform: MemoryPlatform, way: str) -> None:
    admin, visitor = platform.admin(), platform.client()

    def change(value: Any) -> None:
        if way == "bulk":
            admin.patch(CONFIGS, {"challenge_visibility": value})
        elif way == "one":
            admin.patch(f"{CONFIGS}/challenge_visibility", {"value": value})
        else:
            admin.post(CONFIGS, {"key": "challenge_visibility", "value": value})

    def status() -> int:
        return visitor.get("/api/v1/challenges", content_type="application/json").status

    assert status() == 403
    change("public")
    assert status() == 200
    admin.delete(f"{CONFIGS}/challenge_visibility")
    assert status() == 403


def test_values_follow_the_solves_of_the_mode_s_accounts(platform: MemoryPlatform) -> None:
    def some(conn: Any) -> int:
        number, team = a_challenge(conn, dynamic={"decay": 10, "function": "linear"}, value=480), a_team(conn)
        # In users mode a solve carries no team.
        for team_id in (None, None, team):
            a_solve(conn, number, a_user(conn), team_id=team_id)
        touch(conn, EVERYTHING)
        return number

    number, admin = platform.run(some), platform.admin()

    def value() -> int:
        shown: int = admin.get(f"/api/v1/challenges/{number}").data["value"]
        return shown

    assert value() == 480
    admin.patch(CONFIGS, {"user_mode": "teams"})
    assert value() == 500
    admin.delete(f"{CONFIGS}/user_mode")
    assert value() == 480
