"""GET /files/<location>."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from ctfd_twisted.accounts.keys import Keys
from ctfd_twisted.accounts.tables import users
from ctfd_twisted.challenges.tables import challenges, modules, solutions
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.testing import Client, MemoryPlatform
from ctfd_twisted.testing.builders import a_challenge, a_solve

Make = Callable[..., Any]
PATH = "/files/abc/a.txt"


def statuses(platform: MemoryPlatform, path: str = PATH) -> tuple[int, int, int]:
    """What a visitor, a player and an administrator are answered."""
    askers = (platform.client(), platform.player("ann"), platform.admin())
    visitor, player, admin = (asker.get(path).status for asker in askers)
    return visitor, player, admin


def user_id(client: Client) -> int:
    number: int = client.get("/api/v1/users/me").data["id"]
    return number


def link(platform: MemoryPlatform, file_id: int, user_id: object) -> str:
    token = Keys(platform.settings.secret_key).sign(
        platform.now, {"user_id": user_id, "team_id": None, "file_id": file_id}
    )
    return f"{PATH}?token={token}"


def test_a_file_is_sent_to_be_saved(platform: MemoryPlatform, put: Make) -> None:
    put("abc/a.txt", b"x" * 500_000)
    reply = platform.client().get(PATH)
    assert (reply.status, reply.body) == (200, b"x" * 500_000)
    assert reply.headers["content-type"] == "text/plain"
    assert reply.headers["content-disposition"] == 'attachment; filename="a.txt"'
    assert reply.headers["cache-control"] == "no-cache"
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in reply.headers["content-security-policy"]


def test_head_sends_no_content(platform: MemoryPlatform, put: Make) -> None:
    put("abc/a.txt", b"content")
    reply = platform.client().request("HEAD", PATH)
    assert (reply.status, reply.body, reply.headers["accept-ranges"]) == (200, b"", "bytes")


def test_what_has_not_changed_is_not_sent_again(platform: MemoryPlatform, put: Make) -> None:
    put("abc/a.txt")
    etag = platform.client().get(PATH).headers["etag"]
    reply = platform.client().get(PATH, headers={"If-None-Match": etag})
    assert (reply.status, reply.body, reply.headers["etag"]) == (304, b"", etag)


def test_a_part_is_sent_where_one_is_asked_for(platform: MemoryPlatform, put: Make) -> None:
    put("abc/a.txt", b"0123456789")
    reply = platform.client().get(PATH, headers={"Range": "bytes=2-4"})
    assert (reply.status, reply.body, reply.headers["content-range"]) == (206, b"234", "bytes 2-4/10")
    reply = platform.client().get(PATH, headers={"Range": "bytes=10-"})
    assert (reply.status, reply.headers["content-range"]) == (416, "bytes */10")


def test_an_empty_file_is_a_file(platform: MemoryPlatform, put: Make) -> None:
    put("abc/a.txt", b"")
    reply = platform.client().get(PATH)
    assert (reply.status, reply.body) == (200, b"")


def test_only_what_has_a_row_is_served(platform: MemoryPlatform, put: Make, uploads: Path) -> None:
    put("abc/a.txt")
    (uploads / "abc" / "other").write_text("secret")
    (uploads / "abc" / "a.txt").unlink()
    admin = platform.admin()
    paths = ("/files/abc/other", PATH, "/files/abc", "/files/none/a.txt")
    assert [admin.get(path).status for path in paths] == [404] * 4


def test_public_files_are_for_everybody_also_before_the_setup(platform: MemoryPlatform, put: Make) -> None:
    put("abc/a.txt", type="page")
    platform.configure(setup=False, challenge_visibility="admins")
    assert statuses(platform) == (200, 200, 200)


def test_a_file_of_an_unknown_kind_is_for_administrators(platform: MemoryPlatform, put: Make) -> None:
    put("abc/a.txt", type="other")
    assert statuses(platform) == (404, 404, 200)


@pytest.mark.parametrize(
    ("visibility", "expected"),
    [("public", (200, 200, 200)), ("private", (403, 200, 200)), ("admins", (403, 403, 200))],
)
def test_challenge_files_follow_the_visibility(
    platform: MemoryPlatform, make: Make, put: Make, visibility: str, expected: tuple[int, int, int]
) -> None:
    put("abc/a.txt", type="challenge", challenge_id=make(a_challenge))
    platform.configure(challenge_visibility=visibility)
    assert statuses(platform) == expected


@pytest.mark.parametrize("state", ["hidden", "locked", "whatever"])
def test_files_of_challenges_that_are_not_shown_are_not_there(
    platform: MemoryPlatform, make: Make, put: Make, state: str
) -> None:
    put("abc/a.txt", type="challenge", challenge_id=make(a_challenge, state=state))
    assert statuses(platform)[1:] == (404, 200)


def test_files_follow_schedule_and_modules(platform: MemoryPlatform, make: Make, put: Make) -> None:
    number = make(a_challenge, scheduled_at=platform.now + timedelta(hours=1))
    put("abc/a.txt", type="challenge", challenge_id=number)
    assert statuses(platform)[1:] == (404, 200)
    platform.clock.advance(3600)
    assert statuses(platform)[1:] == (200, 200)
    closed = make(insert_row, modules, {"name": "closed"})
    make(lambda conn: conn.execute(update(challenges).values(module_id=closed)))
    assert statuses(platform)[1:] == (404, 200)


@pytest.mark.parametrize("anonymize", [None, True, "preview"])
def test_files_wait_for_prerequisites(platform: MemoryPlatform, make: Make, put: Make, anonymize: object) -> None:
    first = make(a_challenge)
    number = make(a_challenge, requirements={"prerequisites": [first], "anonymize": anonymize})
    file = put("abc/a.txt", type="challenge", challenge_id=number)
    ann = platform.player("ann")
    assert statuses(platform)[1:] == (404, 200)
    make(a_solve, first, user_id(ann))
    assert statuses(platform) == (403, 200, 200)
    # Also where everybody may see challenges, a link opens what its owner has reached.
    platform.configure(challenge_visibility="public")
    assert statuses(platform)[0] == 404
    assert platform.client().get(link(platform, file, user_id(ann))).status == 200


def test_files_follow_the_time_of_the_event(platform: MemoryPlatform, make: Make, put: Make) -> None:
    put("abc/a.txt", type="challenge", challenge_id=make(a_challenge))
    instant = int(platform.now.timestamp())
    platform.configure(start=instant + 100, end=instant + 200)
    assert statuses(platform) == (403, 403, 200)
    platform.clock.advance(150)
    assert statuses(platform)[1] == 200
    platform.clock.advance(100)
    assert statuses(platform)[1] == 403
    platform.configure(view_after_ctf=True)
    assert statuses(platform)[1] == 200


def test_the_link_of_a_detail_works_for_an_hour_without_a_session(
    platform: MemoryPlatform, make: Make, put: Make
) -> None:
    number = make(a_challenge)
    put("abc/a.txt", type="challenge", challenge_id=number)
    (url,) = platform.player("ann").get(f"/api/v1/challenges/{number}").data["files"]
    visitor = platform.client()
    assert visitor.get(url).status == 200
    platform.clock.advance(3601)
    assert visitor.get(url).status == 403


def test_a_token_is_for_one_file_and_one_user_who_is_welcome(platform: MemoryPlatform, make: Make, put: Make) -> None:
    file = put("abc/a.txt", type="challenge", challenge_id=make(a_challenge))
    ann, visitor = user_id(platform.player("ann")), platform.client()
    assert visitor.get(link(platform, file, ann)).status == 200
    wrong = (
        link(platform, file + 1, ann),
        link(platform, file, 999),
        link(platform, file, "1"),
        link(platform, file, None),
    )
    assert [visitor.get(url).status for url in (*wrong, f"{PATH}?token=", f"{PATH}?token=a.b.c")] == [403] * 6
    make(lambda conn: conn.execute(update(users).where(users.c.id == ann).values(banned=True)))
    assert visitor.get(link(platform, file, ann)).status == 403


def test_a_token_helps_where_only_administrators_see_challenges(
    platform: MemoryPlatform, make: Make, put: Make
) -> None:
    file = put("abc/a.txt", type="challenge", challenge_id=make(a_challenge, state="hidden"))
    platform.configure(challenge_visibility="admins")
    of_player, of_admin = (link(platform, file, user_id(who)) for who in (platform.player("ann"), platform.admin()))
    assert platform.client().get(of_player).status == 403
    assert platform.client().get(of_admin).status == 200
    assert platform.player("ann").get(of_admin).status == 200


@pytest.mark.parametrize(
    ("challenge", "solution", "expected"),
    [("visible", "visible", 200), ("visible", "hidden", 404), ("hidden", "visible", 404)],
)
def test_solution_files_follow_both_states(
    platform: MemoryPlatform, make: Make, put: Make, challenge: str, solution: str, expected: int
) -> None:
    columns = {"challenge_id": make(a_challenge, state=challenge), "state": solution}
    put("abc/a.txt", type="solution", solution_id=make(insert_row, solutions, columns))
    assert statuses(platform) == (404, expected, 200)


def test_a_file_of_nothing_is_for_administrators(platform: MemoryPlatform, put: Make) -> None:
    put("abc/a.txt", type="challenge")
    assert statuses(platform)[1:] == (404, 200)
