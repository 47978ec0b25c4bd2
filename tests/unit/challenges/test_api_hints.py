"""/api/v1/hints."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select

from ctfd_twisted.challenges.tables import hints, modules
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.scoring.tables import awards, unlocks
from ctfd_twisted.testing import Client, MemoryPlatform, Reply
from ctfd_twisted.testing.builders import a_challenge, a_hint, a_team, an_award

HINTS = "/api/v1/hints"
OTHERS_FIRST = {"requirements": ["You must unlock other hints before accessing this hint"]}
SIGN_IN = {"cost": ["You must login to unlock this hint"]}
Make = Callable[..., Any]


def unlock(client: Client, hint: int) -> Reply:
    return client.post("/api/v1/unlocks", {"type": "hints", "target": hint})


def test_all_but_reading_one_is_for_administrators(platform: MemoryPlatform, make: Make) -> None:
    hint = make(a_hint, make(a_challenge))
    ann = platform.player("ann")
    replies = (
        ann.get(HINTS),
        ann.post(HINTS, {"content": "x"}),
        ann.patch(f"{HINTS}/{hint}", {"content": "x"}),
        ann.delete(f"{HINTS}/{hint}"),
    )
    assert [reply.status for reply in replies] == [403] * 4


@pytest.mark.parametrize("name", ["challenge_id", "challenge"])
def test_a_hint_is_made_read_and_listed(platform: MemoryPlatform, make: Make, name: str) -> None:
    admin, number = platform.admin(), make(a_challenge)
    body = {name: number, "content": "Look *here*, {ctf_name}", "cost": "10", "title": "First", "type": "other"}
    made = admin.post(HINTS, {**body, "requirements": {"prerequisites": None}}).data
    locked = {
        "id": made["id"],
        "title": "First",
        "type": "standard",
        "challenge": number,
        "challenge_id": number,
        "cost": 10,
    }
    assert made == {
        **locked,
        "content": "Look *here*, {ctf_name}",
        "html": "<p>Look <em>here</em>, Test CTF</p>\n",
        "requirements": {"prerequisites": None},
    }
    assert admin.get(HINTS).data == [locked]
    assert admin.get(f"{HINTS}/{made['id']}").data == locked
    assert admin.get(f"{HINTS}/{made['id']}?preview=1").data == made
    assert admin.get(f"{HINTS}/{made['id']}?preview=").data == locked


def test_a_hint_costs_nothing_unless_somebody_says_so(platform: MemoryPlatform) -> None:
    admin = platform.admin()
    made = [admin.post(HINTS, body).data for body in ({}, {"cost": None, "content": None})]
    assert [(hint["cost"], hint["challenge_id"], hint["html"], hint["requirements"]) for hint in made] == [
        (0, None, "", None)
    ] * 2


def test_what_a_hint_can_not_be(platform: MemoryPlatform) -> None:
    admin = platform.admin()
    wrong = {"title": "x" * 81, "content": 5, "cost": "much", "requirements": [1]}
    assert admin.post(HINTS, wrong).errors == {
        "title": ["Longer than maximum length 80."],
        "content": ["Not a valid string."],
        "cost": ["Not a valid integer."],
        "requirements": ["Not a valid object."],
    }
    assert admin.post(HINTS, {"cost": 2**31}).errors == {"cost": ["Not a valid integer."]}
    assert admin.post(HINTS, {"challenge_id": 999}).status == 500
    assert admin.get(HINTS).data == []


def test_a_change_is_partial_and_counts_at_once(platform: MemoryPlatform, make: Make) -> None:
    number = make(a_challenge)
    hint = make(a_hint, number, title="old", cost=7)
    ann, admin = platform.player("ann"), platform.admin()
    detail = f"/api/v1/challenges/{number}"
    assert ann.get(detail).data["hints"] == [{"id": hint, "cost": 7, "title": "old"}]
    changed = admin.patch(f"{HINTS}/{hint}", {"cost": 3}).data
    assert (changed["title"], changed["cost"]) == ("old", 3)
    assert admin.patch(f"{HINTS}/{hint}", {}).data == changed
    assert ann.get(detail).data["hints"] == [{"id": hint, "cost": 3, "title": "old"}]


def test_hints_are_found(platform: MemoryPlatform, make: Make) -> None:
    first, second = make(a_challenge), make(a_challenge)
    one = make(a_hint, second, content="look left", cost=5)
    two = make(a_hint, first, content="look right", type="other")
    admin = platform.admin()

    def found(query: str) -> list[int]:
        return [hint["id"] for hint in admin.get(f"{HINTS}?{query}").data]

    assert found("") == found("q=look&field=content") == [one, two]
    assert found(f"challenge_id={first}") == found("cost=0") == found("type=other") == [two]
    assert found("content=look%20left&cost=5") == found("q=left&field=content") == [one]
    assert admin.get(f"{HINTS}?field=title").errors == {
        "field": "value is not a valid enumeration member; permitted: 'type', 'content'"
    }


def test_a_hint_goes_and_what_it_cost_stays(platform: MemoryPlatform, make: Make) -> None:
    hint = make(a_hint, make(a_challenge))
    ann, admin = platform.player("ann"), platform.admin()
    assert unlock(ann, hint).status == 200
    assert admin.delete(f"{HINTS}/{hint}").json == {"success": True}
    for reply in (admin.get(f"{HINTS}/{hint}"), admin.delete(f"{HINTS}/{hint}"), admin.patch(f"{HINTS}/x", {})):
        assert reply.status == 404
    assert platform.run(lambda conn: conn.execute(select(unlocks.c.target)).scalars().all()) == [hint]
    assert platform.run(lambda conn: conn.execute(select(awards.c.name)).scalars().all()) == [f"Hint {hint}"]


def test_a_new_hint_is_not_open_to_those_who_had_unlocked_a_deleted_one(platform: MemoryPlatform, make: Make) -> None:
    number = make(a_challenge)
    hint = make(a_hint, number)
    ann, admin = platform.player("ann"), platform.admin()
    unlock(ann, hint)
    admin.delete(f"{HINTS}/{hint}")
    made = admin.post(HINTS, {"challenge_id": number, "content": "secret"}).data["id"]
    assert "content" not in ann.get(f"{HINTS}/{made}").data


@pytest.mark.parametrize("cost", [0, 10])
def test_a_player_reads_a_hint_once_it_is_unlocked(platform: MemoryPlatform, make: Make, cost: int) -> None:
    hint = make(a_hint, make(a_challenge), content="*here*", cost=cost)
    ann = platform.player("ann")
    make(an_award, ann_id(platform), 10)
    locked = ann.get(f"{HINTS}/{hint}").data
    assert "content" not in locked
    assert ann.get(f"{HINTS}/{hint}?preview=1").data == locked
    assert unlock(ann, hint).status == 200
    assert ann.get(f"{HINTS}/{hint}").data == {**locked, "content": "*here*", "html": "<p><em>here</em></p>\n"}
    assert "content" not in platform.player("ben").get(f"{HINTS}/{hint}").data


def ann_id(platform: MemoryPlatform) -> int:
    found: int = platform.player("ann").get("/api/v1/users/me").data["id"]
    return found


def test_what_one_member_unlocks_the_team_reads(platform: MemoryPlatform, make: Make) -> None:
    platform.configure(user_mode="teams")
    team, hint = make(a_team), make(a_hint, make(a_challenge))
    assert unlock(platform.player("ann", team_id=team), hint).data["team_id"] == team
    assert platform.player("ben", team_id=team).get(f"{HINTS}/{hint}").data["content"] == "Look closer."
    assert "content" not in platform.player("cat", team_id=make(a_team)).get(f"{HINTS}/{hint}").data


def test_hints_that_come_before_are_unlocked_before(platform: MemoryPlatform, make: Make) -> None:
    number = make(a_challenge)
    first = make(a_hint, number)
    second = make(a_hint, number, requirements={"prerequisites": [first, 999]})
    admin, ann = platform.admin(), platform.player("ann")
    for client in (ann, admin):
        reply = client.get(f"{HINTS}/{second}")
        assert (reply.status, reply.errors) == (403, OTHERS_FIRST)
    assert admin.get(f"{HINTS}/{second}?preview=true").data["content"] == "Look closer."
    unlock(ann, first)
    assert "content" not in ann.get(f"{HINTS}/{second}").data
    unlock(ann, second)
    assert ann.get(f"{HINTS}/{second}").data["content"] == "Look closer."


def test_visitors_read_what_is_free_where_the_competition_lets_them(platform: MemoryPlatform, make: Make) -> None:
    platform.configure(challenge_visibility="public")
    number = make(a_challenge)
    free, dear = make(a_hint, number), make(a_hint, number, cost=1)
    later = make(a_hint, number, requirements={"prerequisites": [free]})
    visitor = platform.client()
    for hint in (free, dear, later):
        reply = visitor.get(f"{HINTS}/{hint}")
        assert (reply.status, reply.errors) == (403, SIGN_IN)
    platform.configure(hints_free_public_access=True)
    assert visitor.get(f"{HINTS}/{free}").data["content"] == "Look closer."
    assert [visitor.get(f"{HINTS}/{hint}").errors for hint in (dear, later)] == [SIGN_IN, SIGN_IN]


@pytest.mark.parametrize(
    ("columns", "status"),
    [
        ({"state": "hidden"}, 404),
        ({"state": "locked"}, 200),
        ({"scheduled_at": "later"}, 404),
        ({"module_id": 1}, 404),
        ({"requirements": {"prerequisites": [1]}}, 404),
        ({"requirements": {"prerequisites": [1], "anonymize": "preview"}}, 404),
        ({"requirements": {"prerequisites": [999]}}, 200),
    ],
)
def test_a_hint_is_there_where_its_challenge_is(
    platform: MemoryPlatform, make: Make, columns: dict[str, Any], status: int
) -> None:
    make(insert_row, modules, {"id": 1, "name": "closed"})
    make(a_challenge, id=1)
    if "scheduled_at" in columns:
        columns = {"scheduled_at": platform.now + timedelta(hours=1)}
    hint = make(a_hint, make(a_challenge, **columns))
    assert platform.player("ann").get(f"{HINTS}/{hint}").status == status
    assert unlock(platform.player("ann"), hint).status == status
    assert platform.admin().get(f"{HINTS}/{hint}").status == 200
    assert unlock(platform.admin(), hint).status == 200


def test_a_hint_of_no_challenge_is_there_for_administrators(platform: MemoryPlatform, make: Make) -> None:
    hint = make(insert_row, hints, {"content": "lost"})
    assert platform.admin().get(f"{HINTS}/{hint}").data["challenge"] is None
    assert platform.player("ann").get(f"{HINTS}/{hint}").status == 404
    assert unlock(platform.admin(), hint).status == 404


def test_the_event_must_run_and_show_its_challenges(platform: MemoryPlatform, make: Make) -> None:
    hint = make(a_hint, make(a_challenge))
    ann, visitor = platform.player("ann"), platform.client()
    assert visitor.get(f"{HINTS}/{hint}", content_type="application/json").status == 403
    platform.configure(end=int(platform.now.timestamp()) - 1)
    assert ann.get(f"{HINTS}/{hint}").json == {"message": "Test CTF has ended"}
    platform.configure(view_after_ctf=True)
    assert "content" not in ann.get(f"{HINTS}/{hint}").data
