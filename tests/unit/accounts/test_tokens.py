"""Access tokens: shown once, kept hashed, found again; what they open and when they stop."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from sqlalchemy import select, update

from ctfd_twisted.accounts.sessions_tables import sessions, token_uses
from ctfd_twisted.accounts.tables import tokens, users
from ctfd_twisted.accounts.tokens import create_token, digest_of
from ctfd_twisted.db.behind import TOGETHER, WriteBehind
from ctfd_twisted.db.notices import EVERYTHING, touch
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.errors import NotFound
from ctfd_twisted.settings import PresetAdmin
from ctfd_twisted.testing import Client, MemoryPlatform, result_of

SignUp = Callable[..., Client]
ME = "/api/v1/users/me"
TOKENS = "/api/v1/tokens"
JSON = {"content_type": "application/json"}
CLEAR = "ctfd_" + "0123456789abcdef" * 4


def stored(platform: MemoryPlatform) -> list[str]:
    return list(platform.run(lambda conn: conn.scalars(select(tokens.c.value).order_by(tokens.c.id)).all()))


def adopted(platform: MemoryPlatform, value: str = CLEAR) -> None:
    """A token of the first user as CTFd stores it."""

    def adopt(conn: object) -> None:
        row = {"type": "user", "user_id": 1, "created": platform.now, "expiration": None, "value": value}
        insert_row(conn, tokens, row)  # type: ignore[arg-type]
        touch(conn, EVERYTHING)  # type: ignore[arg-type]

    platform.run(adopt)


def test_a_token_is_shown_once_and_kept_hashed(platform: MemoryPlatform, browser: SignUp) -> None:
    bob = browser("bob")
    made = bob.post(TOKENS, {"description": "script"}).data
    assert set(made) == {"id", "type", "user_id", "created", "expiration", "description", "value"}
    assert made["value"].startswith("ctfd_")
    assert len(made["value"]) == 69
    assert made["expiration"] == (platform.now + timedelta(days=30)).isoformat()
    assert stored(platform)[-1] == "sha256$" + digest_of(made["value"])
    assert bob.get(TOKENS, **JSON).data == [{"id": made["id"], "type": "user", "expiration": made["expiration"]}]
    shown = bob.get(f"{TOKENS}/{made['id']}", **JSON).data
    assert set(shown) == {"id", "type", "created", "expiration", "description", "last_used"}


@pytest.mark.parametrize(
    ("date", "expiration"), [("2030-01-02", "2030-01-02T00:00:00+00:00"), ("", None), (None, None)]
)
def test_an_expiration_is_a_date_or_thirty_days(
    platform: MemoryPlatform, admin: Client, date: str | None, expiration: str | None
) -> None:
    expected = expiration or (platform.now + timedelta(days=30)).isoformat()
    assert admin.post(TOKENS, {"expiration": date}).data["expiration"] == expected


@pytest.mark.parametrize("date", ["tomorrow", "2030-1-2", "2030-02-30", "2030-01-02T00:00", "٢٠٣٠-01-02"])
def test_another_expiration_is_refused(admin: Client, date: str) -> None:
    assert list(admin.post(TOKENS, {"expiration": date}).errors) == ["expiration"]
    assert admin.post(TOKENS, {"expiration": 5}).errors == {"expiration": ["Not a valid string."]}
    assert admin.request("POST", TOKENS, data=b"[]", content_type="application/json").status == 500


def test_tokens_of_others_do_not_exist_but_for_admins(platform: MemoryPlatform, admin: Client, browser: SignUp) -> None:
    bob, eve = browser("bob"), browser("eve")
    made = bob.post(TOKENS, {}).data
    path = f"{TOKENS}/{made['id']}"
    assert (eve.get(path, **JSON).status, eve.delete(path, {}).status, eve.get(f"{TOKENS}/99", **JSON).status) == (
        404,
    ) * 3
    assert eve.get(TOKENS, **JSON).data == []
    seen = admin.get(path).data
    assert (seen["user_id"], seen["value"]) == (made["user_id"], None)
    assert admin.delete(path, {}).json == {"success": True}
    assert platform.client(made["value"]).get(ME).status == 401


def test_a_token_stops_at_its_end(platform: MemoryPlatform, admin: Client) -> None:
    value = admin.post(TOKENS, {"expiration": "2026-03-15"}).data["value"]
    client = platform.client(value)
    assert client.get(ME).status == 200
    platform.clock.advance(9 * 3600)
    reply = client.get(ME)
    assert (reply.status, reply.json) == (401, {"message": "Your access token has expired"})


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("Token ctfd_unknown", "Your access token is invalid"),
        ("Token", "Invalid authorization header"),
        ("Token a b", "Invalid authorization header"),
    ],
)
def test_what_is_no_token_is_told(platform: MemoryPlatform, header: str, message: str) -> None:
    reply = platform.client().get(ME, headers={"Authorization": header}, **JSON)
    assert (reply.status, reply.json) == (401, {"message": message})


def test_any_scheme_word_will_do_and_a_plain_page_ignores_the_header(platform: MemoryPlatform, admin: Client) -> None:
    for word in ("Token", "token", "Bearer"):
        reply = platform.client().get(ME, headers={"Authorization": f"{word} {admin.token}"}, **JSON)
        assert reply.status == 200


def test_a_clear_token_of_ctfd_works_and_is_replaced_by_its_hash(platform: MemoryPlatform, admin: Client) -> None:
    assert admin.get(ME).status == 200
    adopted(platform)
    client = platform.client(CLEAR)
    for _ in range(3):
        assert client.get(ME).data["id"] == 1
        assert stored(platform)[-1] == "sha256$" + digest_of(CLEAR)


def test_a_stored_hash_opens_nothing(platform: MemoryPlatform, admin: Client) -> None:
    assert admin.get(ME).status == 200
    for value in stored(platform):
        assert platform.client(value).get(ME).status == 401


def test_uses_are_noted_once_a_minute(platform: MemoryPlatform, admin: Client) -> None:
    def used() -> object:
        platform.clock.advance(TOGETHER)
        return platform.run(lambda conn: conn.scalar(select(token_uses.c.used)))

    first = platform.now
    admin.get(ME)
    assert used() == first
    platform.clock.advance(59 - TOGETHER)
    admin.get(ME)
    assert used() == first
    again = platform.now
    admin.get(ME)
    assert used() == again
    assert admin.get(f"{TOKENS}/1").data["last_used"] == again.isoformat()


def test_a_use_is_written_when_the_platform_stops(platform: MemoryPlatform, admin: Client) -> None:
    admin.get(ME)
    (behind,) = (service for service in platform.platform.services if isinstance(service, WriteBehind))
    result_of(behind.stopService())
    assert platform.run(lambda conn: conn.scalar(select(token_uses.c.used))) == platform.now


def test_the_session_of_a_token_needs_no_row_and_dies_with_the_token(platform: MemoryPlatform, admin: Client) -> None:
    value = admin.post(TOKENS, {}).data["value"]
    client = platform.client(value)
    assert client.get(ME).status == 200
    assert client.cookies["session"].startswith("t.2.")
    client.token = None
    assert client.get(ME, **JSON).data["id"] == 1
    assert client.patch(ME, {"affiliation": "A"}).status == 200  # with the nonce of this session
    assert platform.run(lambda conn: conn.execute(select(sessions)).all()) == []
    admin.delete(f"{TOKENS}/2", {})
    assert client.get(ME, **JSON).status == 403


def test_the_session_of_a_token_is_nobody_elses_after_its_id_is_reused(platform: MemoryPlatform, admin: Client) -> None:
    client = platform.client(admin.post(TOKENS, {}).data["value"])
    client.get(ME)
    client.token = None
    platform.run(lambda conn: conn.execute(update(tokens).where(tokens.c.id == 2).values(value="sha256$other")))
    platform.bus.publish({"tokens"})
    assert client.get(ME, **JSON).status == 403


def test_a_cookie_that_claims_to_be_of_a_token_must_be_ours(platform: MemoryPlatform, admin: Client) -> None:
    assert admin.get(ME).status == 200
    client = platform.client()
    for sid in ("t.1.x", "t.0.x", "t.99.x", "s.x"):
        client.cookies["session"] = sid + ".signature"
        assert client.get(ME, **JSON).status == 403


def test_a_deleted_owner_takes_the_token_along(platform: MemoryPlatform, admin: Client) -> None:
    eve = platform.player("eve")
    user_id = eve.get(ME).data["id"]
    admin.delete(f"/api/v1/users/{user_id}", {})
    assert eve.get(ME).json == {"message": "Your access token is invalid"}
    assert len(stored(platform)) == 1


def test_tokens_are_made_for_those_who_are_there(platform: MemoryPlatform) -> None:
    with pytest.raises(NotFound):
        platform.run(create_token, platform.now, 99, None, None)


def test_an_unverified_player_has_no_tokens(platform: MemoryPlatform) -> None:
    player = platform.player("eve", verified=False)
    platform.configure(verify_emails=True)
    assert player.post(TOKENS, {}).status == player.get(TOKENS).status == 403


def preset(**changes: str) -> PresetAdmin:
    return PresetAdmin(**{"name": "boss", "email": "boss@example.org", "password": "pw", "token": "preset", **changes})


def test_the_preset_token_makes_its_admin_at_first_use() -> None:
    platform = MemoryPlatform(preset_admin=preset()).setup()
    client = platform.client("preset")
    assert client.get(ME).data["name"] == "boss"
    assert client.cookies["session"].startswith("t.0.")
    assert client.get("/api/v1/users?view=admin").data[0]["name"] == "boss"
    client.token = None
    assert client.get(ME, **JSON).status == 200
    row = platform.run(lambda conn: conn.execute(select(users)).one())
    assert (row.type, row.verified, row.hidden) == ("admin", True, True)
    assert platform.client("presex").get(ME).status == 401
    platform.close()


def test_a_preset_admin_whose_address_is_a_players_is_not_made() -> None:
    platform = MemoryPlatform(preset_admin=preset(email="eve@example.org")).setup()
    platform.player("eve")
    assert platform.client("preset").get(ME).json == {"message": "Your access token is invalid"}
    page = platform.client().submit("/login", name="boss", password="pw")
    assert "Preset admin user could not be created. Please contact an administrator" in page.text
    platform.close()


def test_the_preset_admin_signs_in_by_name_or_address() -> None:
    platform = MemoryPlatform(preset_admin=preset()).setup()
    for name in ("boss", "boss@example.org"):
        client = platform.client()
        assert client.submit("/login", name=name, password="pw").location == "/challenges"
        assert client.get("/api/v1/users?view=admin", **JSON).data[0]["name"] == "boss"
    assert platform.client().submit("/login", name="boss", password="px").status == 200
    platform.close()
