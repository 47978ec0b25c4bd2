"""The scoreboard, the pages of users and teams, and one's own settings."""

import re
from datetime import timedelta

from sqlalchemy import Connection

from ctfd_twisted.accounts.tables import brackets, field_entries, fields
from ctfd_twisted.db.notices import EVERYTHING, touch
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.testing import MemoryPlatform
from ctfd_twisted.testing.builders import a_challenge, a_solve, a_team, a_user, an_award


def solved(platform: MemoryPlatform, *values: int, name: str = "solver", **columns: object) -> int:
    """A user with a solve for each of *values*, an hour apart; their id."""

    def store(conn: Connection) -> int:
        user_id = a_user(conn, name=name, **columns)
        for hour, value in enumerate(values):
            moment = platform.now - timedelta(hours=len(values) - hour)
            a_solve(conn, a_challenge(conn, name=f"worth {value}", value=value), user_id, date=moment)
        touch(conn, EVERYTHING)
        return user_id

    return int(platform.run(store))


def rows(text: str) -> list[list[str]]:
    """The cells of every row of the page's tables, without their tags."""
    return [
        [
            re.sub(r"(?:<[^>]+>|[ \n])+", " ", cell).strip()
            for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL)
        ]
        for body in re.findall(r"<tbody>(.*?)</tbody>", text, re.DOTALL)
        for row in re.findall(r"<tr[^>]*>(.*?)</tr>", body, re.DOTALL)
    ]


def test_the_board_has_places_names_and_scores(platform: MemoryPlatform) -> None:
    solved(platform, 100, name="second")
    solved(platform, 300, 12_000, name="first")
    solved(platform, 999, name="unseen", hidden=True)
    text = platform.client().get("/scoreboard").text
    assert rows(text) == [["1", "first", "12\u202f300"], ["2", "second", "100"]]


def test_the_board_draws_the_first_ten_and_says_so_in_words(platform: MemoryPlatform) -> None:
    assert "<svg viewBox" not in platform.client().get("/scoreboard").text.split("<main")[1]
    solved(platform, 100, 200)
    text = platform.client().get("/scoreboard").text
    assert 'role="img" aria-label="Scores over time of the first 1;' in text
    assert '<path class="line-0" d="M' in text


def test_a_bracket_counts_its_places_anew(platform: MemoryPlatform) -> None:
    def divide(conn: Connection) -> tuple[int, int]:
        touch(conn, EVERYTHING)
        students = insert_row(conn, brackets, {"name": "Students", "type": "users"})
        return students, insert_row(conn, brackets, {"name": "Open", "type": "users"})

    students, opened = platform.run(divide)
    solved(platform, 300, name="pro", bracket_id=opened)
    solved(platform, 100, name="student", bracket_id=students)
    client = platform.client()
    assert rows(client.get("/scoreboard").text) == [["1", "pro", "Open", "300"], ["2", "student", "Students", "100"]]
    assert rows(client.get(f"/scoreboard?bracket_id={students}").text) == [["1", "student", "100"]]
    assert len(rows(client.get("/scoreboard?bracket_id=77").text)) == 2


def test_the_board_stands_still_after_the_freeze(platform: MemoryPlatform) -> None:
    solved(platform, 100, 200)
    platform.configure(freeze=str(int((platform.now - timedelta(minutes=90)).timestamp())))
    text = platform.client().get("/scoreboard").text
    assert "<span>Scoreboard has been frozen</span>" in text
    assert rows(text) == [["1", "solver", "100"]]


def test_hidden_scores_are_hidden_from_players_alone(platform: MemoryPlatform) -> None:
    solved(platform, 100)
    platform.configure(score_visibility="hidden")
    refused = platform.player("alice").get("/scoreboard", content_type="text/html")
    assert refused.status in {302, 403}
    assert "Scores are hidden from players" in platform.admin().get("/scoreboard").text
    platform.configure(score_visibility="public", account_visibility="admins")
    assert platform.client().get("/scoreboard").status == 404


def test_ones_own_row_is_marked(platform: MemoryPlatform) -> None:
    alice = platform.player("alice")
    user_id = platform.run(lambda conn: conn.exec_driver_sql("select id from users where name = 'alice'").scalar_one())

    def give(conn: Connection) -> None:
        an_award(conn, user_id, 50)
        touch(conn, EVERYTHING)

    platform.run(give)
    assert rows(alice.get("/scoreboard").text) == [["1", "alice you", "50"]]


def test_a_profile_shows_place_score_solves_and_awards(platform: MemoryPlatform) -> None:
    user_id = solved(platform, 100, 200, affiliation="ETH", country="CH", website="https://s.example/")
    text = platform.client().get(f"/users/{user_id}").text
    for words in ("<dd>1st</dd>", "<dd>300</dd>", "<li>ETH</li>", "<li>Switzerland</li>", 'href="https://s.example/"'):
        assert words in text
    assert [row[0] for row in rows(text)] == ["worth 200", "worth 100"]
    assert f'window.USER = {{"type":"user","id":{user_id},"name":"solver","account_id":{user_id}}};' in text


def test_a_profile_shows_public_fields_alone(platform: MemoryPlatform) -> None:
    user_id = solved(platform)

    def ask(conn: Connection) -> None:
        for name, public in (("motto", True), ("shoe size", False)):
            kind = {"type": "user", "field_type": "text", "description": "", "required": False, "editable": True}
            field_id = insert_row(conn, fields, {"name": name, "public": public, **kind})
            conn.execute(field_entries.insert().values(type="user", field_id=field_id, user_id=user_id, value="<b>44"))

    platform.run(ask)
    text = platform.client().get(f"/users/{user_id}").text
    assert "<li>motto: &lt;b&gt;44</li>" in text
    assert "shoe size" not in text


def test_the_hidden_have_no_public_profile_but_their_own(platform: MemoryPlatform) -> None:
    user_id = solved(platform, hidden=True)
    assert platform.client().get(f"/users/{user_id}").status == 404
    assert platform.admin().get(f"/users/{user_id}").status == 200
    assert platform.player("ghost", hidden=True).get("/user").status == 200


def test_ones_own_page_knows_no_freeze(platform: MemoryPlatform) -> None:
    alice = platform.player("alice")
    user_id = platform.run(lambda conn: conn.exec_driver_sql("select id from users where name = 'alice'").scalar_one())

    def solve(conn: Connection) -> None:
        a_solve(conn, a_challenge(conn), user_id, date=platform.now)
        touch(conn, EVERYTHING)

    platform.run(solve)
    platform.configure(freeze=str(int(platform.now.timestamp()) - 60))
    assert "<dd>0</dd>" in platform.client().get(f"/users/{user_id}").text
    assert "<dd>100</dd>" in alice.get("/user").text
    assert alice.get("/profile").text.count("<dd>100</dd>") == 1


def test_a_team_shows_its_members_and_their_points(platform: MemoryPlatform) -> None:
    platform.configure(user_mode="teams")
    team = platform.run(lambda conn: a_team(conn, name="Sailors"))
    first = solved(platform, 100, name="one", team_id=team)
    solved(platform, name="two", team_id=team)
    solved(platform, name="ghost", team_id=team, hidden=True)
    text = platform.client().get(f"/teams/{team}").text
    assert rows(text)[:2] == [["one", "100"], ["two", "0"]]
    assert "ghost" not in text
    assert f'Plays in <a href="/teams/{team}">Sailors</a>' in platform.client().get(f"/users/{first}").text


def test_the_captain_has_tools_and_others_have_none(platform: MemoryPlatform) -> None:
    platform.configure(user_mode="teams")
    captain = platform.run(lambda conn: a_user(conn, name="captain"))
    team = platform.run(lambda conn: a_team(conn, captain_id=captain))

    def join(conn: Connection) -> None:
        conn.exec_driver_sql("update users set team_id = ? where id = ?", (team, captain))
        touch(conn, EVERYTHING)

    platform.run(join)
    assert 'id="team-form"' in platform.player("captain").get("/team").text
    assert 'id="team-form"' not in platform.player("mate", team_id=team).get("/team").text
    assert "Join a team, or found one" in platform.player("loner").get("/team").text


def test_settings_list_tokens_without_their_values(platform: MemoryPlatform) -> None:
    alice = platform.player("alice")
    value = alice.post("/api/v1/tokens", {"description": "<i>mine</i>"}).data["value"]
    text = alice.get("/settings").text
    assert "&lt;i&gt;mine&lt;/i&gt;" in text
    assert value not in text
    assert 'value="2026-04-13"' in text  # thirty days after the platform began


def test_settings_list_where_one_is_logged_in(platform: MemoryPlatform) -> None:
    here, elsewhere = platform.client(), platform.client()
    here.submit("/register", name="alice", email="alice@example.org", password="secret")
    elsewhere.cookies.clear()
    form = {"nonce": elsewhere.nonce, "name": "alice", "password": "secret"}
    elsewhere.request("POST", "/login", data=form, headers={"User-Agent": "<b>Lynx</b>"})
    text = here.get("/settings").text
    assert "&lt;b&gt;Lynx&lt;/b&gt;" in text
    assert (text.count("data-session="), text.count("this one")) == (2, 1)
    assert here.delete("/api/v1/users/me/sessions", {}).status == 200
    assert here.get("/settings").text.count("data-session=") == 1
    assert elsewhere.get("/settings").location.startswith("/login")


def test_settings_tell_what_is_missing(platform: MemoryPlatform) -> None:
    platform.configure(user_mode="teams", verify_emails=True)
    text = platform.player("alice", verified=False).get("/settings").text
    assert "You are not in a team yet." in text
    assert '<a href="/confirm?flow=init">' in text
    assert "You are not in a team yet." not in platform.admin().get("/settings").text


def test_settings_are_for_those_who_are_logged_in(platform: MemoryPlatform) -> None:
    for path in ("/settings", "/user", "/profile"):
        assert platform.client().get(path).location == f"/login?next=%2F{path[1:]}%3F"
