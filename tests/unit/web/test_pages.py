"""What every page holds, whoever asks: read as scripts and browsers do."""

import re

from sqlalchemy import Connection

from ctfd_twisted.accounts.tables import brackets, fields
from ctfd_twisted.content.tables import notifications, pages
from ctfd_twisted.db.notices import touch
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.testing import MemoryPlatform, Reply
from ctfd_twisted.testing.builders import a_team, a_user

HOSTILE = "</script><img src=x onerror=alert(1)>\"'&\u2028"
FIRST_HEX = re.compile("[a-f0-9]{64}")


def csrf_nonce(text: str) -> str:
    """The nonce as scripts scrape it."""
    found: list[str] = re.findall(r"csrfNonce': \"([a-f0-9]{64})\"", text)
    return found[0]


def policy_nonce(page: Reply) -> str:
    """The nonce of the content security policy."""
    found: list[str] = re.findall(r"script-src 'self' 'nonce-([\w-]+)';", page.headers["content-security-policy"])
    return found[0]


def a_page(platform: MemoryPlatform, route: str, content: str, **columns: object) -> None:
    values = {"title": route, "route": route, "content": content, "format": "markdown"}
    flags = {"draft": False, "hidden": False, "auth_required": False}

    def store(conn: Connection) -> None:
        conn.execute(pages.insert().values(**{**values, **flags, **columns}))
        touch(conn, "pages")

    platform.run(store)


def test_the_init_script_has_the_layout_that_scripts_rely_on(platform: MemoryPlatform) -> None:
    platform.configure(start="1795000000")
    text = platform.player("alice").get("/settings").text
    found = re.search(r"window\.init = \{\n(.*?)\n\}\n</script>", text, re.DOTALL)
    assert found is not None
    lines = found[1].split("\n")
    nonce = csrf_nonce(text)
    assert lines[:3] == ["    'urlRoot': \"\",", f"    'csrfNonce': \"{nonce}\",", "    'userMode': \"users\","]
    assert re.fullmatch(r"    'userId': \d+,", lines[3])
    assert lines[4] == "    'userName': \"alice\", 'userEmail': \"alice@example.org\", 'userVerified': true,"
    assert lines[5] == "    'teamId': null, 'teamName': null,"
    assert lines[6] == "    'start': 1795000000, 'end': null,"
    assert lines[7] == "    'themeSettings': null,"
    assert re.fullmatch(r"    'eventSounds': \[\".*webm\?.*\",\".*mp3\?.*\"\],", lines[8])


def test_an_anonymous_visitor_has_the_id_zero(platform: MemoryPlatform) -> None:
    text = platform.client().get("/users").text
    assert "'userId': 0," in text
    assert "'userName': null, 'userEmail': null, 'userVerified': null," in text


def test_pages_of_administrators_declare_a_shorter_init(platform: MemoryPlatform) -> None:
    text = platform.admin().get("/admin/webhooks").text
    assert "var init = {\n    'urlRoot': \"\",\n    'csrfNonce': \"" in text
    assert "userVerified" not in text
    assert "themeSettings" not in text
    assert "eventSounds" not in text


def test_the_nonce_is_the_first_run_of_64_hex_digits(platform: MemoryPlatform) -> None:
    # A hostile name and a theme full of digests come after it.
    platform.configure(ctf_name="e" * 64, theme_header=f"<script src='/x' integrity='{'f' * 64}'></script>")
    for path in ("/users", "/login", "/register", "/nothing-here"):
        text = platform.client().get(path).text
        assert FIRST_HEX.findall(text)[0] == csrf_nonce(text)


def test_scripts_find_nonce_and_fields_in_the_setup() -> None:
    platform = MemoryPlatform()
    client = platform.client()
    text = client.get("/setup").text
    assert FIRST_HEX.findall(text)[0] == csrf_nonce(text)
    assert f'<input id="nonce" name="nonce" type="hidden" value="{csrf_nonce(text)}">' in text
    asked = set(re.findall(r'<(?:input|select|textarea)[^>]* name="(\w+)"', text))
    assert asked == {
        *("nonce", "ctf_name", "ctf_description", "user_mode", "name", "email", "password", "team_size"),
        *("challenge_visibility", "account_visibility", "score_visibility", "registration_visibility"),
        *("verify_emails", "social_shares", "ctf_theme", "theme_color", "start", "end"),
        *("ctf_logo", "ctf_banner", "ctf_small_icon"),
    }
    assert 'value="teams" checked' in text
    assert '<option value="private" selected>' in text.split('name="challenge_visibility"')[1].split("</select>")[0]
    account = {"name": "admin", "email": "a@example.org", "password": "a long password"}
    assert client.submit("/setup", ctf_name="By hand", user_mode="users", **account).location == "/"
    assert "By hand" in client.get("/").text
    platform.close()


def test_the_form_of_registration_asks_what_the_competition_wants(platform: MemoryPlatform) -> None:
    platform.configure(registration_code="secret", password_min_length=12, tos_text="be kind")

    def ask(conn: Connection) -> None:
        kind = {"type": "user", "description": "for the finals", "public": False, "editable": True}
        insert_row(conn, fields, {"name": "size", "field_type": "text", "required": True, **kind})
        insert_row(conn, fields, {"name": "over 16", "field_type": "boolean", "required": False, **kind})
        insert_row(conn, brackets, {"name": "Students", "type": "users"})
        insert_row(conn, brackets, {"name": "Companies", "type": "teams"})

    platform.run(ask)
    text = platform.client().get("/register").text
    for shown in (
        'name="fields[1]" type="text"',
        'name="fields[2]" type="checkbox"',
        ">Students<",
        "At least 12 characters",
    ):
        assert shown in text
    assert "Companies" not in text
    assert 'name="registration_code"' in text
    assert 'href="/tos"' in text
    again = platform.client().submit("/register", name="<a>", email="a@example.org", password="short")
    assert again.status == 200
    assert "<span>The registration code you entered was incorrect</span>" in again.text
    assert 'value="&lt;a&gt;"' in again.text
    assert "short" not in again.text.split("<form")[1]


def test_forms_hold_the_nonce_with_its_attributes_in_this_order(platform: MemoryPlatform) -> None:
    text = platform.player("alice").get("/settings").text
    nonce = csrf_nonce(text)
    assert f'<input id="nonce" name="nonce" type="hidden" value="{nonce}">' in text


def test_each_answer_has_a_policy_with_a_nonce_of_its_own(platform: MemoryPlatform) -> None:
    client = platform.client()
    seen = set()
    for _ in range(2):
        page = client.get("/users")
        policy = page.headers["content-security-policy"]
        nonce = policy_nonce(page)
        assert "unsafe" not in policy
        for directive in ("object-src 'none'", "base-uri 'none'", "form-action 'self'", "frame-ancestors 'self'"):
            assert directive in policy
        assert page.headers["cache-control"] == "no-store"
        assert set(re.findall(r'<script nonce="([^"]+)"', page.text)) == {nonce}
        seen.add(nonce)
    assert len(seen) == 2


def test_no_page_runs_code_outside_the_policy(platform: MemoryPlatform) -> None:
    for page in (platform.player("alice").get("/settings"), platform.admin().get("/admin/webhooks")):
        assert not re.search(r"<script(?! nonce=| src=)", page.text)
        assert not re.search(r"\son\w+=", page.text)
        assert " style=" not in page.text


def test_the_themes_own_code_gets_the_nonce(platform: MemoryPlatform) -> None:
    platform.configure(theme_header="<style>a{}</style>", theme_footer="<script>own()</script>")
    page = platform.client().get("/users")
    nonce = policy_nonce(page)
    assert f'<style nonce="{nonce}">a{{}}</style></head>' in page.text
    assert f'<script nonce="{nonce}">own()</script></body>' in page.text


def test_theme_code_stays_out_of_pages_of_administrators(platform: MemoryPlatform) -> None:
    platform.configure(theme_header="<style>a{}</style>")
    assert "<style" not in platform.admin().get("/admin/webhooks").text


def test_a_hostile_name_stays_text_everywhere(platform: MemoryPlatform) -> None:
    platform.configure(ctf_name=HOSTILE, user_mode="teams")
    team = platform.run(lambda conn: a_team(conn, name=HOSTILE))
    player = platform.player(
        HOSTILE, email="h@example.org", team_id=team, affiliation=HOSTILE, website="javascript:x()"
    )
    for path in ("/settings", "/users", "/teams", "/nothing-here"):
        text = player.get(path).text
        assert "<img" not in text
        assert "\u2028" not in text.split("</script>", 1)[0]
        assert 'href="javascript:' not in text


def test_theme_settings_are_json_and_say_so_when_they_are_not(platform: MemoryPlatform) -> None:
    platform.configure(theme_settings='{"challenge_window_size": "lg"}')
    assert '\'themeSettings\': {"challenge_window_size":"lg"},' in platform.client().get("/users").text
    platform.configure(theme_settings="{broken")
    assert '\'themeSettings\': {"error":"invalid theme_settings"},' in platform.client().get("/users").text


def test_everything_lies_below_the_application_root() -> None:
    platform = MemoryPlatform(application_root="/ctf").setup()
    text = platform.client().get("/ctf/users").text
    assert "'urlRoot': \"/ctf\"," in text
    assert not re.search(r'(?:href|src|action)="/(?!ctf/)', text)
    platform.close()


def test_a_custom_page_is_rendered_and_stands_in_the_menu(platform: MemoryPlatform) -> None:
    a_page(platform, "rules", "# {ctf_name}\n\n<script>own()</script>")
    page = platform.client().get("/rules")
    nonce = policy_nonce(page)
    assert "<h1>Test CTF</h1>" in page.text
    assert f'<script nonce="{nonce}">own()</script>' in page.text
    assert '<a href="/rules">rules</a>' in platform.client().get("/users").text


def test_drafts_are_not_there_and_hidden_pages_are_not_in_the_menu(platform: MemoryPlatform) -> None:
    a_page(platform, "draft", "d", draft=True)
    a_page(platform, "secret", "s", hidden=True)
    client = platform.client()
    assert client.get("/draft").status == 404
    page = client.get("/secret")
    assert page.status == 200
    assert 'href="/secret"' not in page.text


def test_a_page_for_those_logged_in_leads_others_to_the_login(platform: MemoryPlatform) -> None:
    a_page(platform, "inside", "i", auth_required=True)
    assert platform.client().get("/inside").location == "/login?next=%2Finside%3F"
    assert platform.player("alice").get("/inside", content_type=None).status == 200


def test_the_start_page_is_the_one_called_index(platform: MemoryPlatform) -> None:
    assert platform.client().get("/").status == 404
    a_page(platform, "index", "<b>{ctf_name}</b>", format="html", title="")
    page = platform.client().get("/")
    assert "<b>Test CTF</b>" in page.text
    assert "<title>Test CTF</title>" in page.text
    assert 'href="/index"' not in page.text


def test_a_link_to_elsewhere_keeps_its_target(platform: MemoryPlatform) -> None:
    a_page(platform, "https://elsewhere.example/", "", link_target="_blank", title="Elsewhere")
    link = '<a href="https://elsewhere.example/" target="_blank" rel="noopener">Elsewhere</a>'
    assert link in platform.client().get("/users").text


def test_terms_lead_elsewhere_or_are_shown_here(platform: MemoryPlatform) -> None:
    client = platform.client()
    assert client.get("/tos").status == 404
    platform.configure(tos_text="**be kind**", privacy_url="https://p.example/")
    assert "<strong>be kind</strong>" in client.get("/tos").text
    assert client.get("/privacy").location == "https://p.example/"


def test_notifications_are_shown_newest_first_and_to_whom_they_are_for(platform: MemoryPlatform) -> None:
    def tell(conn: Connection) -> None:
        someone = a_user(conn)
        for title, content, user_id in (("old", "**o**", None), ("private", "p", someone), ("<new>", "n", None)):
            values = {"title": title, "content": content, "user_id": user_id, "team_id": None, "date": platform.now}
            conn.execute(notifications.insert().values(**values))

    platform.run(tell)
    text = platform.client().get("/notifications").text
    assert text.index("&lt;new&gt;") < text.index("<h2>old</h2>")
    assert "<strong>o</strong>" in text
    assert "private" not in text


def test_error_pages_say_what_and_why(platform: MemoryPlatform) -> None:
    page = platform.client().get("/nothing-here")
    assert page.status == 404
    assert "<h1>Not Found</h1>" in page.text
    assert page.headers["cache-control"] == "no-store"


def test_lists_show_neither_the_hidden_nor_the_banned(platform: MemoryPlatform) -> None:
    platform.run(lambda conn: [a_user(conn, name="seen"), a_user(conn, name="hid", hidden=True)])
    platform.run(lambda conn: [a_user(conn, name="out", banned=True), a_user(conn, name="old", hidden=None)])
    text = platform.client().get("/users").text
    assert "seen" in text
    assert ">hid<" not in text
    assert ">out<" not in text
    assert ">old<" not in text


def test_lists_have_pages_of_fifty_and_a_search(platform: MemoryPlatform) -> None:
    platform.run(lambda conn: [a_user(conn, name=f"p{number:02}") for number in range(51)])
    client = platform.client()
    assert ">p49<" in client.get("/users").text
    assert ">p50<" in client.get("/users?page=2").text
    found = client.get("/users?field=name&q=p07").text
    assert ">p07<" in found
    assert ">p08<" not in found
    assert client.get("/users?field=email&q=example.org").text.count(">p") == 0


def test_teams_are_not_there_where_users_play(platform: MemoryPlatform) -> None:
    assert platform.client().get("/teams").status == 404
    platform.configure(user_mode="teams")
    assert platform.client().get("/teams").status == 200
