"""The challenges' page: who is let in, what is shown, and what answers come to."""

import re
from datetime import timedelta

from sqlalchemy import Connection, update

from ctfd_twisted.accounts.tables import brackets, field_entries, fields
from ctfd_twisted.challenges.registry import challenge_types
from ctfd_twisted.challenges.tables import challenges, hints
from ctfd_twisted.db.notices import EVERYTHING, touch
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.koth.tables import hills
from ctfd_twisted.testing import Client, MemoryPlatform, Reply
from ctfd_twisted.testing.builders import a_challenge, a_flag, a_hint, a_solve, a_team, a_user


def a_task(platform: MemoryPlatform, **columns: object) -> int:
    """A challenge with the flag ``flag{right}``; its id."""

    def store(conn: Connection) -> int:
        challenge_id = a_challenge(conn, **columns)
        a_flag(conn, challenge_id)
        touch(conn, EVERYTHING)
        return challenge_id

    return int(platform.run(store))


def submit(client: Client, challenge_id: int, submission: str) -> Reply:
    """Answer by the page's own form, as a browser without JavaScript."""
    fields = {"challenge_id": str(challenge_id), "submission": submission}
    return client.request(
        "POST", f"/challenges?open={challenge_id}", data={"nonce": client.nonce, **fields}, content_type=None
    )


def a_browser(platform: MemoryPlatform, name: str, **columns: object) -> Client:
    """*name* with a browser: the cookie of a session, no token."""
    client = platform.player(name, **columns)
    client.get("/settings")
    client.token = None
    return client


def alerts(page: Reply) -> list[str]:
    """The sentences above and inside the page."""
    return re.findall(r'<div class="alert[^>]*><span>(.*?)</span>', page.text)


def test_challenges_stand_by_category_with_what_is_solved(platform: MemoryPlatform) -> None:
    first = a_task(platform, name="Baby RSA", category="crypto", value=50)
    a_task(platform, name="Lattice", category="crypto", value=450)
    a_task(platform, name="Cookies", category="web")
    alice = a_browser(platform, "alice")
    submit(alice, first, "flag{right}")
    text = alice.get("/challenges").text
    assert re.findall(r"<h2 id=\"shelf-\d\">(\w+)", text) == ["crypto", "web"]
    assert "1 of 2 solved" in text
    assert text.index("Baby RSA") < text.index("Lattice") < text.index("Cookies")
    assert text.count("is-solved") == 1


def test_hidden_challenges_are_not_there(platform: MemoryPlatform) -> None:
    hidden = a_task(platform, name="secret plans", state="hidden")
    alice = a_browser(platform, "alice")
    assert "secret plans" not in alice.get("/challenges").text
    assert alice.get(f"/challenges?open={hidden}").status == 404


def test_an_opened_challenge_is_a_page_or_a_part_of_one(platform: MemoryPlatform) -> None:
    number = a_task(platform, name="Baby RSA", description="**bold**", connection_info="nc ctf.example 1")
    alice = a_browser(platform, "alice")
    page = alice.get(f"/challenges?open={number}").text
    part = alice.get(f"/challenges?open={number}", headers={"HX-Request": "true"}).text
    assert "window.init" in page
    assert "window.init" not in part
    for text in (page, part):
        assert "<strong>bold</strong>" in text
        assert "<code>nc ctf.example 1</code>" in text
        assert f'<input id="challenge-id" name="challenge_id" type="hidden" value="{number}">' in text


def test_only_addresses_of_the_web_are_links_in_the_connection_info(platform: MemoryPlatform) -> None:
    number = a_task(platform, connection_info="javascript:alert(1)")
    text = a_browser(platform, "alice").get(f"/challenges?open={number}").text
    assert 'href="javascript' not in text
    assert "<code>javascript:alert(1)</code>" in text


def test_answers_by_form_get_the_words_of_the_api(platform: MemoryPlatform) -> None:
    number = a_task(platform, max_attempts=3)
    alice = a_browser(platform, "alice")
    assert alerts(submit(alice, number, "flag{no}")) == ["Incorrect. You have 2 tries remaining."]
    page = submit(alice, number, " flag{right} ")
    assert (page.status, alerts(page)) == (200, ["Correct"])
    assert 'id="challenge-input"' not in page.text
    assert alerts(submit(alice, number, "flag{right}")) == ["Correct but you already solved this"]


def test_an_answer_without_the_nonce_is_refused(platform: MemoryPlatform) -> None:
    number = a_task(platform)
    alice = a_browser(platform, "alice")
    fields = {"challenge_id": str(number), "submission": "flag{right}"}
    assert alice.request("POST", f"/challenges?open={number}", data=fields).status == 403


def test_visitors_of_public_challenges_log_in_to_answer(platform: MemoryPlatform) -> None:
    number = a_task(platform)
    platform.configure(challenge_visibility="public")
    visitor = platform.client()
    assert "Log in to submit a flag" in visitor.get(f"/challenges?open={number}").text
    assert submit(visitor, number, "flag{right}").location.startswith("/login?next=")


def test_the_time_of_the_competition_decides(platform: MemoryPlatform) -> None:
    a_task(platform)
    alice, admin = a_browser(platform, "alice"), a_browser(platform, "root", type="admin")
    soon = int((platform.now + timedelta(hours=1)).timestamp())
    platform.configure(start=str(soon))
    early = alice.get("/challenges")
    assert early.status == 403
    assert "Test CTF has not started yet" in early.text
    assert admin.get("/challenges").status == 200
    platform.configure(start=None, end=str(int(platform.now.timestamp()) - 60))
    assert "Test CTF has ended" in alice.get("/challenges").text
    platform.configure(view_after_ctf=True)
    assert alerts(alice.get("/challenges")) == ["Test CTF has ended"]


def test_a_pause_is_told(platform: MemoryPlatform) -> None:
    number = a_task(platform)
    platform.configure(paused=True)
    assert "Test CTF is paused" in alerts(submit(a_browser(platform, "alice"), number, "flag{right}"))


def test_where_teams_play_a_team_is_needed_also_by_administrators(platform: MemoryPlatform) -> None:
    platform.configure(user_mode="teams")
    for client in (a_browser(platform, "alice"), a_browser(platform, "root", type="admin")):
        assert client.get("/challenges").location == "/team?next=%2Fchallenges%3F"
    team = platform.run(a_team)
    assert a_browser(platform, "bob", team_id=team).get("/challenges").status == 200


def test_a_profile_must_be_complete_before_the_time_is_looked_at(platform: MemoryPlatform) -> None:
    platform.configure(start=str(int(platform.now.timestamp()) + 3600))
    alice = a_browser(platform, "alice")

    def ask(conn: Connection) -> int:
        kind = {"type": "user", "field_type": "text", "description": "", "public": False, "editable": True}
        field_id = insert_row(conn, fields, {"name": "size", "required": True, **kind})
        touch(conn, EVERYTHING)
        return field_id

    field_id = platform.run(ask)
    assert alice.get("/challenges").location == "/settings"
    assert "Please fill out all required profile fields before continuing" in alice.get("/settings").text
    user_id = platform.run(lambda conn: conn.exec_driver_sql("select id from users where name = 'alice'").scalar_one())

    def answer(conn: Connection) -> None:
        conn.execute(field_entries.insert().values(type="user", field_id=field_id, user_id=user_id, value="M"))
        touch(conn, EVERYTHING)

    platform.run(answer)
    assert alice.get("/challenges").status == 403

    def divide(conn: Connection) -> None:
        insert_row(conn, brackets, {"name": "open", "type": "users"})
        touch(conn, EVERYTHING)

    platform.run(divide)
    assert alice.get("/challenges").location == "/settings"


def test_unverified_players_are_sent_to_confirm(platform: MemoryPlatform) -> None:
    platform.configure(verify_emails=True)
    assert a_browser(platform, "alice", verified=False).get("/challenges").location == "/confirm"


def test_who_solved_it_is_shown_to_those_who_see_scores_and_accounts(platform: MemoryPlatform) -> None:
    number = a_task(platform)

    def solve(conn: Connection) -> None:
        a_solve(conn, number, a_user(conn, name="<b>solver</b>"))
        touch(conn, EVERYTHING)

    platform.run(solve)
    alice = a_browser(platform, "alice")
    assert "&lt;b&gt;solver&lt;/b&gt;" in alice.get(f"/challenges?open={number}").text
    platform.configure(score_visibility="hidden")
    assert "solver" not in alice.get(f"/challenges?open={number}").text


def test_hints_show_what_they_cost_until_they_are_unlocked(platform: MemoryPlatform) -> None:
    number = a_task(platform)

    def hint(conn: Connection) -> None:
        values = {"challenge_id": number, "type": "standard", "title": "Look", "content": "*here*", "cost": 10}
        insert_row(conn, hints, values)
        touch(conn, EVERYTHING)

    platform.run(hint)
    alice = a_browser(platform, "alice")
    text = alice.get(f"/challenges?open={number}").text
    assert "Unlock for 10 points" in text
    assert "<em>here</em>" not in text
    platform.configure(end=str(int(platform.now.timestamp()) - 60), view_after_ctf=True)
    assert "<em>here</em>" in alice.get(f"/challenges?open={number}").text


def unlock(client: Client, challenge_id: int, hint: int) -> Reply:
    """Press the button of a hint, as a browser without JavaScript."""
    data = {"nonce": client.nonce, "type": "hints", "target": str(hint)}
    return client.request("POST", f"/challenges?open={challenge_id}", data=data)


def test_a_hint_opens_by_its_button(platform: MemoryPlatform) -> None:
    number = a_task(platform)

    def some(conn: Connection) -> tuple[int, int]:
        first = a_hint(conn, number, content="*here*", cost=10)
        second = a_hint(conn, number, requirements={"prerequisites": [first]})
        touch(conn, EVERYTHING)
        return first, second

    first, second = platform.run(some)
    alice = a_browser(platform, "alice")
    assert alerts(unlock(alice, number, first)) == ["You do not have enough points to unlock this hint"]
    assert alerts(unlock(alice, number, second)) == ["You must unlock other hints before accessing this hint"]
    submit(alice, number, "flag{right}")
    page = unlock(alice, number, first)
    assert page.status == 200
    assert "<em>here</em>" in page.text
    assert "You do not have" not in page.text
    assert alerts(unlock(alice, number, first)) == ["You&#39;ve already unlocked this target"]
    assert "Look closer." in unlock(alice, number, second).text
    assert unlock(alice, number, 999).status == 404


def test_a_locked_challenge_says_so(platform: MemoryPlatform) -> None:
    first = a_task(platform)
    second = a_task(platform, name="Second", requirements={"prerequisites": [first], "anonymize": True})
    alice = a_browser(platform, "alice")
    page = alice.get(f"/challenges?open={second}")
    assert "This challenge opens when others are solved." in alerts(page)
    assert "Second" not in page.text
    assert "is-locked" in page.text


def a_hill(platform: MemoryPlatform, king: int | None = None) -> int:
    def store(conn: Connection) -> int:
        number = a_challenge(conn, name="Lighthouse", type="koth", category="hills", value=7)
        settings = {"url": "http://agent.example:31337/status", "interval": 60, "reward": 7, "api_key": "very secret"}
        challenge_types()["koth"].create(conn, platform.now, number, settings)
        if king is not None:
            conn.execute(update(hills).values(king_user_id=king, king_since=platform.now, reign=1, running=True))
        touch(conn, EVERYTHING)
        return number

    return int(platform.run(store))


def test_a_hill_shows_king_reward_and_ones_own_token(platform: MemoryPlatform) -> None:
    king = platform.run(lambda conn: a_user(conn, name="the king"))
    number = a_hill(platform, king)
    alice = a_browser(platform, "alice")
    assert "the king" in alice.get("/challenges").text
    text = alice.get(f"/challenges?open={number}").text
    token = re.search(r'<code aria-labelledby="hill-token">([\w-]{20,})</code>', text)
    assert token is not None
    assert "<strong>the king</strong> holds this hill since" in text
    assert "7 points per tick" in text
    assert "1 min" in text
    assert 'id="challenge-input"' not in text
    assert "very secret" not in text
    assert token[1] not in a_browser(platform, "bob").get(f"/challenges?open={number}").text


def test_a_next_challenge_is_named_only_where_it_may_be_known(platform: MemoryPlatform) -> None:
    later = a_task(platform, name="later", state="hidden")
    first = a_task(platform, next_id=later)
    alice = a_browser(platform, "alice")
    assert "Next challenge" not in submit(alice, first, "flag{right}").text

    def show(conn: Connection) -> None:
        conn.execute(update(challenges).where(challenges.c.id == later).values(state="visible"))
        touch(conn, EVERYTHING)

    platform.run(show)
    assert "Next challenge" in alice.get(f"/challenges?open={first}").text


def test_the_apis_view_is_kept_for_a_player_and_holds_no_nonce(platform: MemoryPlatform) -> None:
    number = a_task(platform, name="Baby RSA")
    view = platform.player("alice").get(f"/api/v1/challenges/{number}").data["view"]
    assert 'id="challenge-input"' in view
    assert not re.search("[0-9a-f]{64}", view)
