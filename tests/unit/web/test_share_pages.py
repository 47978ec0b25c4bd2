"""/api/v1/shares, and the pages to which such links lead."""

from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from sqlalchemy import Connection, update

from ctfd_twisted.accounts.tables import teams, users
from ctfd_twisted.challenges.tables import challenges, files, modules
from ctfd_twisted.db.notices import EVERYTHING, touch
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.testing import Client, MemoryPlatform
from ctfd_twisted.testing.builders import a_challenge, a_solve, a_team, a_user
from ctfd_twisted.web.share_image import picture_size

SHARES = "/api/v1/shares"
BASE = "http://ctf.example"


def within(platform: MemoryPlatform, change: Callable[[Connection], Any]) -> Any:
    def changed(conn: Connection) -> Any:
        touch(conn, EVERYTHING)
        return change(conn)

    return platform.run(changed)


def id_of(client: Client) -> int:
    number: int = client.get("/api/v1/users/me").data["id"]
    return number


def solved(platform: MemoryPlatform, **columns: Any) -> str:
    """The path of the link that Ann shares about a challenge that she has solved, whose id is 1."""
    ann = platform.player("ann")
    user = id_of(ann)

    def solve(conn: Connection) -> None:
        number = a_challenge(conn, name="<b>Warm-up", value=150)
        a_solve(conn, number, user, **columns)

    within(platform, solve)
    return link(ann, 1)


def link(client: Client, challenge: int) -> str:
    url: str = client.post(SHARES, {"type": "solve", "challenge_id": challenge, "user_id": 99}).data["url"]
    assert url.startswith(f"{BASE}/share/solve?user_id={id_of(client)}&challenge_id={challenge}&mac=")
    assert len(url.rpartition("=")[2]) == 40
    return url.removeprefix(BASE)


def picture_of(path: str) -> str:
    """Where the picture of the link *path* is."""
    query, _, mac = path.removeprefix("/share/solve?").rpartition("&mac=")
    return f"/share/solve/assets/{mac}.png?{query}"


def test_a_link_says_who_has_solved_what(platform: MemoryPlatform) -> None:
    path = solved(platform)
    text = platform.client().get(path).text
    assert '<meta property="og:title" content="ann solved &lt;b&gt;Warm-up">' in text
    assert '<meta property="og:description" content="150 points in Test CTF, 1 solve">' in text
    assert f'<meta property="og:image" content="{BASE}{picture_of(path).replace("&", "&amp;")}">' in text
    assert '<meta property="og:image:width" content="700">' in text
    assert "<h1>ann solved &lt;b&gt;Warm-up</h1>" in text
    assert f'<a href="{BASE}/register">' in text


def test_the_competition_words_the_page(platform: MemoryPlatform) -> None:
    platform.configure(
        social_share_solve_template="<i>{user_name}, {{ challenge_name }}, {solve_count} {solve_count_word} {else}</i>",
    )
    text = platform.client().get(solved(platform)).text
    assert "<i>ann, &lt;b&gt;Warm-up, 1 solve {else}</i>" in text


def test_where_teams_play_the_team_is_named(platform: MemoryPlatform) -> None:
    platform.configure(user_mode="teams")
    team = platform.run(lambda conn: a_team(conn, name="Otters"))
    platform.player("ann", team_id=team)
    assert "Otters solved" in platform.client().get(solved(platform, team_id=team)).text
    ben = platform.player("ben", team_id=team)
    assert "Otters solved" in platform.client().get(link(ben, 1)).text
    assert platform.client().get(link(platform.player("cat"), 1)).status == 404


def test_a_link_can_not_be_forged(platform: MemoryPlatform) -> None:
    path, visitor = solved(platform), platform.client()
    for wrong in (path[:-1] + "x", path.rpartition("&")[0], path.replace("challenge_id=1", "challenge_id=2")):
        assert visitor.get(wrong).status == 404
    assert visitor.get(path.replace("/share/solve", "/share/other")).status == 404
    assert visitor.get("/share/solve?user_id=1").status == 400
    assert visitor.get("/share/solve?user_id=x&challenge_id=1").status == 400


@pytest.mark.parametrize(
    "hide",
    [
        update(challenges).values(state="hidden"),
        update(challenges).values(state="locked"),
        update(challenges).values(module_id=1),
        update(users).values(hidden=True),
        update(users).values(banned=True),
    ],
    ids=["hidden challenge", "locked challenge", "module", "hidden player", "banned player"],
)
def test_a_link_tells_nothing_that_is_hidden(platform: MemoryPlatform, hide: Any) -> None:
    path, visitor = solved(platform), platform.client()
    within(platform, lambda conn: insert_row(conn, modules, {"id": 1, "name": "closed"}))
    assert visitor.get(path).status == 200
    within(platform, lambda conn: conn.execute(hide))
    assert visitor.get(path).status == 404


def test_a_link_names_no_hidden_team(platform: MemoryPlatform) -> None:
    platform.configure(user_mode="teams")
    team = platform.run(a_team)
    platform.player("ann", team_id=team)
    path = solved(platform, team_id=team)
    within(platform, lambda conn: conn.execute(update(teams).values(hidden=True)))
    assert platform.client().get(path).status == 404


def test_what_was_not_solved_before_the_freeze_is_not_told(platform: MemoryPlatform) -> None:
    path, visitor = solved(platform, date=platform.now), platform.client()
    assert visitor.get(path).status == 200
    platform.configure(freeze=int(platform.now.timestamp()))
    assert visitor.get(path).status == 404
    within(platform, lambda conn: a_challenge(conn, name="unsolved"))
    assert visitor.get(link(platform.player("ann"), 2)).status == 404
    assert visitor.get(link(platform.player("ann"), 99)).status == 404


def test_the_count_is_for_those_who_may_see_it(platform: MemoryPlatform) -> None:
    path = solved(platform)
    platform.configure(score_visibility="hidden")
    assert 'content="150 points in Test CTF"' in platform.client().get(path).text


def test_links_can_be_turned_off(platform: MemoryPlatform) -> None:
    path, ann = solved(platform), platform.player("ann")
    platform.configure(social_shares=False)
    assert set(ann.post(SHARES, {"type": "solve", "challenge_id": 1}).json) == {"message"}
    assert platform.client().get(path).status == 403


def test_what_can_not_be_shared(platform: MemoryPlatform) -> None:
    ann = platform.player("ann")
    assert ann.post(SHARES, {"type": "other", "challenge_id": 1}).errors == {"type": ["Unknown share type"]}
    assert set(ann.post(SHARES, {}).errors) == {"type", "challenge_id"}
    assert platform.client().post(SHARES, {"type": "solve", "challenge_id": 1}).status == 403


class TestPictures:
    """What other sites show with a link."""

    @pytest.fixture
    def platform(self, tmp_path: Path) -> Iterator[MemoryPlatform]:
        """A competition that has a folder for files."""
        platform = MemoryPlatform(uploads=tmp_path).setup()
        yield platform
        platform.close()

    def test_a_picture_is_a_png_of_700_by_360(self, platform: MemoryPlatform) -> None:
        answer = platform.client().get(picture_of(solved(platform)))
        assert (answer.status, answer.headers["content-type"]) == (200, "image/png")
        assert picture_size(answer.body) == ("PNG", 700, 360)

    def test_it_is_drawn_anew_when_what_it_says_has_changed(self, platform: MemoryPlatform) -> None:
        path, visitor = picture_of(solved(platform)), platform.client()
        first = visitor.get(path).body
        assert visitor.get(path).body == first
        within(platform, lambda conn: a_solve(conn, 1, a_user(conn)))
        assert visitor.get(path).body != first

    def test_it_has_the_competitions_logo(self, platform: MemoryPlatform, tmp_path: Path) -> None:
        path, visitor = picture_of(solved(platform)), platform.client()
        plain = visitor.get(path).body
        written = BytesIO()
        Image.new("RGB", (80, 40), "#ff0000").save(written, "PNG")
        (tmp_path / "abc").mkdir()
        (tmp_path / "abc" / "logo.png").write_bytes(written.getvalue())
        platform.configure(ctf_logo="abc/logo.png")
        assert visitor.get(path).body == plain
        row = {"type": "standard", "location": "abc/logo.png", "sha1sum": "1"}
        within(platform, lambda conn: insert_row(conn, files, row))
        with Image.open(BytesIO(visitor.get(path).body)) as picture:
            assert picture.getpixel((80, 60)) == (255, 0, 0)
        within(platform, lambda conn: conn.execute(update(files).values(type="challenge")))
        assert visitor.get(path).body == plain

    def test_a_name_that_fits_no_link_leads_nowhere(self, platform: MemoryPlatform) -> None:
        path, visitor = picture_of(solved(platform)), platform.client()
        for wrong in (
            path.replace(".png", ".jpg"),
            path.replace(".png", "0.png"),
            path.replace("challenge_id=1", "challenge_id=2"),
            path.replace("/solve/", "/other/"),
        ):
            assert visitor.get(wrong).status == 404
        assert visitor.get(path.partition("?")[0]).status == 400

    def test_it_tells_nothing_that_is_hidden(self, platform: MemoryPlatform) -> None:
        path, visitor = picture_of(solved(platform)), platform.client()
        platform.configure(score_visibility="hidden")
        counted = visitor.get(path).body
        platform.configure(score_visibility="public")
        assert visitor.get(path).body != counted
        within(platform, lambda conn: conn.execute(update(users).values(hidden=True)))
        assert visitor.get(path).status == 404

    def test_it_goes_with_the_links(self, platform: MemoryPlatform) -> None:
        path = picture_of(solved(platform))
        platform.configure(social_shares=False)
        assert platform.client().get(path).status == 403
