"""Signing in with MajorLeagueCyber, as browsers do it, with a provider in memory."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from sqlalchemy import select
from treq.testing import StubTreq
from twisted.logger import ILogObserver, LogLevel, globalLogPublisher
from zope.interface import implementer

from ctfd_twisted.accounts.oauth_client import AT_ONCE, SECONDS
from ctfd_twisted.accounts.tables import brackets, teams, tokens, users
from ctfd_twisted.db.notices import EVERYTHING, touch
from ctfd_twisted.db.writes import insert_row
from ctfd_twisted.settings import OAuthServer
from ctfd_twisted.testing import Client, MemoryPlatform, Reply
from ctfd_twisted.testing.oauth import CLIENT, endpoints
from ctfd_twisted.webhooks.tables import events

SignUp = Callable[..., Client]
ME = "/api/v1/users/me"
JSON = {"content_type": "application/json"}
TOKEN_FAILED = "OAuth token retrieval failure."


@pytest.fixture
def platform() -> Any:
    platform = MemoryPlatform().setup(**endpoints())
    platform.oauth_reach.add(7, "ada", (70, "Lovelaces"))
    yield platform
    platform.close()


def state_of(reply: Reply) -> str:
    return parse_qs(urlsplit(reply.location).query)["state"][0]


def come_back(platform: MemoryPlatform, client: Client, name: str = "ada", path: str = "/oauth") -> Reply:
    """Go to the provider, say there that one is *name*, and come back."""
    state = state_of(client.get(path))
    return client.get(f"/redirect?code={platform.oauth_reach.grant(name)}&state={state}")


def refusal(client: Client, reply: Reply) -> list[str]:
    """What the login page says, to which *reply* must lead."""
    assert reply.status == 302
    assert urlsplit(reply.location).path == "/login"
    page = client.get(reply.location)
    assert page.status == 200
    return [html.unescape(text) for text in re.findall(r'alert-danger" role="alert"><span>(.*?)</span>', page.text)]


def rows(platform: MemoryPlatform, table: Any) -> list[Any]:
    return list(platform.run(lambda conn: conn.execute(select(table).order_by(*table.primary_key)).all()))


def row(platform: MemoryPlatform, name: str) -> Any:
    return platform.run(lambda conn: conn.execute(select(users).where(users.c.name == name)).one())


# The way there


def test_the_login_page_has_a_button_when_the_platform_is_known_there(platform: MemoryPlatform) -> None:
    page = platform.client().get("/login?next=/scoreboard%3Fa=b").text
    assert 'href="/oauth?next=/scoreboard%3Fa%3Db"' in page
    platform.configure(oauth_client_secret=None)
    assert "/oauth" not in platform.client().get("/login").text


def test_the_browser_is_sent_to_the_provider_with_the_sessions_nonce(platform: MemoryPlatform) -> None:
    client = platform.client()
    nonce = client.nonce
    at = urlsplit(client.get("/oauth").location)
    assert f"{at.scheme}://{at.netloc}{at.path}" == "http://127.0.0.1/oauth/authorize"
    asked = {"response_type": ["code"], "client_id": ["platform"], "scope": ["profile"], "state": [nonce]}
    assert parse_qs(at.query) == asked
    platform.configure(user_mode="teams")
    assert parse_qs(urlsplit(client.get("/oauth").location).query)["scope"] == ["profile team"]


def test_without_a_client_there_is_no_way_there(platform: MemoryPlatform) -> None:
    platform.configure(oauth_client_id=None)
    client = platform.client()
    said = "OAuth Settings not configured. Ask your CTF administrator to configure MajorLeagueCyber integration."
    assert refusal(client, client.get("/oauth")) == [said]
    assert refusal(client, client.get(f"/redirect?code=x&state={client.nonce}")) == [said]


def test_ten_a_minute_each_may_set_out_or_come_back(platform: MemoryPlatform) -> None:
    for path in ("/oauth", "/redirect"):
        one, other = platform.client(), platform.client()
        assert one.nonce != other.nonce
        assert [one.get(path).status for _ in range(11)] == [302] * 10 + [429]
        assert other.get(path).status == 302
        stranger = [platform.client().get(path).status for _ in range(2)]
        assert 429 in stranger, "without a session the address is all that is known"
        platform.clock.advance(60)
        assert one.get(path).status == 302


# Who comes


def test_somebody_new_is_registered_verified_and_signed_in(platform: MemoryPlatform) -> None:
    client = platform.client()
    before = client.nonce
    reply = come_back(platform, client)
    assert (reply.status, reply.location) == (302, "/challenges")
    assert client.nonce != before
    me = client.get(ME, **JSON).data
    assert (me["name"], me["email"], me["oauth_id"]) == ("ada", "ada@example.org", 7)
    stored = row(platform, "ada")
    assert (stored.verified, stored.password, stored.type, stored.hidden, stored.banned) == (
        True, None, "user", False, False,
    )  # fmt: skip
    assert [event.event for event in rows(platform, events)] == ["user.created"]
    (sent,) = platform.oauth_reach.exchanges
    assert sent.pop("code")
    assert sent == {**CLIENT, "grant_type": "authorization_code"}


def test_the_same_person_comes_back_to_the_same_account(platform: MemoryPlatform) -> None:
    for client in (platform.client(), platform.client()):
        platform.oauth_reach.people["ada"]["email"] = "moved@example.org"
        assert come_back(platform, client).location == "/challenges"
        assert client.get(ME, **JSON).data["oauth_id"] == 7
    assert len(rows(platform, users)) == 1


def test_one_is_led_to_the_page_that_one_came_for(platform: MemoryPlatform) -> None:
    client = platform.client()
    assert come_back(platform, client, path="/oauth?next=%2Fscoreboard%3Fa%3Db").location == "/scoreboard?a=b"


@pytest.mark.parametrize("onto", ["//evil.example", "https%3A%2F%2Fevil.example", "javascript%3Aalert(1)"])
def test_nobody_is_led_elsewhere(platform: MemoryPlatform, onto: str) -> None:
    assert come_back(platform, platform.client(), path=f"/oauth?next={onto}").location == "/challenges"


def test_a_state_that_was_written_by_hand_leads_nowhere_else(platform: MemoryPlatform) -> None:
    client = platform.client()
    state = f"{client.nonce}.Ly9ldmlsLmV4YW1wbGU"  # //evil.example
    assert client.get(f"/redirect?code={platform.oauth_reach.grant('ada')}&state={state}").location == "/challenges"


@pytest.mark.parametrize("state", ["", "0" * 64, "\N{SNOWMAN}", "."])
def test_another_state_than_ones_own_is_refused(platform: MemoryPlatform, state: str) -> None:
    client = platform.client()
    code = platform.oauth_reach.grant("ada")
    reply = client.get("/redirect", params={"code": code, "state": state})
    assert refusal(client, reply) == ["OAuth State validation mismatch."]
    assert platform.oauth_reach.exchanges == []


def test_the_state_of_another_browser_is_refused(platform: MemoryPlatform) -> None:
    theirs = state_of(platform.client().get("/oauth"))
    mine = platform.client()
    reply = mine.get(f"/redirect?code={platform.oauth_reach.grant('ada')}&state={theirs}")
    assert refusal(mine, reply) == ["OAuth State validation mismatch."]


def test_a_way_back_is_gone_once(platform: MemoryPlatform) -> None:
    client = platform.client()
    state = state_of(client.get("/oauth"))
    way = f"/redirect?code={platform.oauth_reach.grant('ada')}&state={state}"
    assert client.get(way).location == "/challenges"
    assert refusal(client, client.get(way)) == ["OAuth State validation mismatch."]
    # With a state of the session that was opened the code is still of no use.
    again = way.replace(state, state_of(client.get("/oauth")))
    assert refusal(client, client.get(again)) == [TOKEN_FAILED]


def test_who_does_not_consent_is_told_that_there_is_no_code(platform: MemoryPlatform) -> None:
    client = platform.client()
    state = state_of(client.get("/oauth?next=/scoreboard"))
    reply = client.get(f"/redirect?error=access_denied&state={state}")
    assert reply.location == "/login?oauth=code&next=%2Fscoreboard"
    assert refusal(client, reply) == ["Received redirect without OAuth code."]


def test_the_login_page_repeats_nothing_that_an_address_says(platform: MemoryPlatform) -> None:
    assert "alert-danger" not in platform.client().get("/login?oauth=<b>Your+account+is+gone").text


# Accounts that are there already


def test_a_confirmed_account_is_linked_and_keeps_all_it_has(platform: MemoryPlatform, browser: SignUp) -> None:
    here = browser("ada")
    script = platform.client(here.post("/api/v1/tokens", {}).data["value"])
    client = platform.client()
    assert come_back(platform, client).location == "/challenges"
    assert row(platform, "ada").oauth_id == 7
    assert here.get(ME, **JSON).data["oauth_id"] == 7
    assert script.get(ME).data["name"] == "ada"
    assert platform.client().submit("/login", name="ada", password="secret").status == 302


def test_who_waited_in_an_account_with_a_strangers_address_is_out(platform: MemoryPlatform, browser: SignUp) -> None:
    """Nobody had shown that the address was theirs, so what they chose does not count against who has shown it."""
    squatter = browser("squatter", email="ada@example.org", verified=False)
    script = platform.client(squatter.post("/api/v1/tokens", {}).data["value"])
    client = platform.client()
    assert come_back(platform, client).location == "/challenges"
    assert (row(platform, "squatter").oauth_id, row(platform, "squatter").verified) == (7, True)
    assert client.get(ME, **JSON).data["name"] == "squatter"
    assert squatter.get("/settings").location.startswith("/login")
    assert script.get(ME).status == 401
    assert [token.user_id for token in rows(platform, tokens)] == [row(platform, "admin").id]
    assert platform.client().submit("/login", name="squatter", password="secret").status == 200


def test_who_is_signed_in_links_their_own_account_and_keeps_it(platform: MemoryPlatform, browser: SignUp) -> None:
    here = browser("ada", verified=False)
    assert come_back(platform, here).location == "/challenges"
    assert (row(platform, "ada").oauth_id, row(platform, "ada").verified) == (7, True)
    assert platform.client().submit("/login", name="ada", password="secret").status == 302


def test_an_address_counts_however_its_letters_are_written(platform: MemoryPlatform, browser: SignUp) -> None:
    browser("ada")
    platform.oauth_reach.people["ada"]["email"] = "Ada@Example.org"
    assert come_back(platform, platform.client()).location == "/challenges"
    assert row(platform, "ada").oauth_id == 7


def test_nobody_becomes_an_administrator_this_way(platform: MemoryPlatform, browser: SignUp) -> None:
    browser("root", email="ada@example.org", type="admin")
    client = platform.client()
    assert refusal(client, come_back(platform, client)) == ["Administrators log in with their password."]
    assert client.get(ME, **JSON).status == 403
    assert row(platform, "root").oauth_id is None


def test_a_linked_player_who_became_an_administrator_needs_their_password(
    platform: MemoryPlatform, admin: Client
) -> None:
    come_back(platform, platform.client())
    admin.patch(f"/api/v1/users/{row(platform, 'ada').id}", {"type": "admin"})
    client = platform.client()
    assert refusal(client, come_back(platform, client)) == ["Administrators log in with their password."]


def test_an_account_of_somebody_else_there_is_not_entered(platform: MemoryPlatform) -> None:
    come_back(platform, platform.client())
    platform.oauth_reach.add(8, "eve", email="ada@example.org")
    client = platform.client()
    said = "The account with your email address belongs to another account of MajorLeagueCyber."
    assert refusal(client, come_back(platform, client, "eve")) == [said]


@pytest.mark.parametrize(
    "changes",
    [{"verified": False}, {"email_verified": False}, {"email": None}, {"email": "none"}, {"email": "a@b\0.c"}],
)
def test_an_address_that_nobody_vouches_for_leads_to_no_account(
    platform: MemoryPlatform, browser: SignUp, changes: dict[str, Any]
) -> None:
    browser("ada")
    platform.oauth_reach.people["ada"].update(changes)
    client = platform.client()
    assert refusal(client, come_back(platform, client)) == [
        "Please confirm your email address at MajorLeagueCyber first."
    ]
    assert row(platform, "ada").oauth_id is None


def test_a_banned_player_sees_only_that(platform: MemoryPlatform) -> None:
    come_back(platform, platform.client())
    platform.admin().patch(f"/api/v1/users/{row(platform, 'ada').id}", {"banned": True})
    client = platform.client()
    come_back(platform, client)
    assert "You have been banned" in client.get("/challenges").text


# Who may become one


@pytest.mark.parametrize(("visibility", "status"), [("public", 302), ("mlc", 302), ("private", 302)])
def test_registration_is_open_unless_it_is_private(platform: MemoryPlatform, visibility: str, status: int) -> None:
    platform.configure(registration_visibility=visibility)
    client = platform.client()
    assert client.get("/register").status == (200 if visibility == "public" else 404)
    reply = come_back(platform, client)
    assert reply.status == status
    if visibility == "private":
        assert refusal(client, reply) == ["Public registration is disabled. Please try again later."]
        assert rows(platform, users) == []
    else:
        assert reply.location == "/challenges"


def test_who_has_an_account_may_come_while_registration_is_closed(platform: MemoryPlatform, browser: SignUp) -> None:
    browser("ada")
    platform.configure(registration_visibility="private", num_users=1)
    assert come_back(platform, platform.client()).location == "/challenges"


def test_a_full_competition_takes_nobody(platform: MemoryPlatform, browser: SignUp) -> None:
    browser("bob")
    platform.configure(num_users=1)
    client = platform.client()
    reply = come_back(platform, client)
    assert (reply.status, "Reached the maximum number of users (1)." in reply.text) == (403, True)


def test_only_allowed_domains_register(platform: MemoryPlatform) -> None:
    platform.configure(domain_whitelist="*.example.org")
    client = platform.client()
    assert refusal(client, come_back(platform, client)) == ["Your email address is not from an allowed domain"]


@pytest.mark.parametrize(
    ("told", "stored"),
    [
        ("bob", "bob (2)"),
        (" bob ", "bob (2)"),
        ("", "player 7"),
        (None, "player 7"),
        ("ada@lovelace.example", "ada"),
        ("x" * 200, "x" * 128),
        ("\u202eada\0", "ada"),
    ],
)
def test_names_stay_unique_and_legible(platform: MemoryPlatform, browser: SignUp, told: Any, stored: str) -> None:
    browser("bob")
    platform.oauth_reach.people["ada"]["name"] = told
    client = platform.client()
    come_back(platform, client)
    assert client.get(ME, **JSON).data["name"] == stored


def test_who_has_no_bracket_yet_is_asked_for_it_first(platform: MemoryPlatform) -> None:
    def add(conn: Any) -> None:
        touch(conn, EVERYTHING)
        insert_row(conn, brackets, {"name": "Students", "type": "users"})

    platform.run(add)
    client = platform.client()
    come_back(platform, client)
    assert client.get("/challenges").location.startswith("/settings")


# Teams


@pytest.fixture
def in_teams(platform: MemoryPlatform) -> MemoryPlatform:
    platform.configure(user_mode="teams")
    platform.oauth_reach.add(8, "bob", (70, "Lovelaces"))
    platform.oauth_reach.add(9, "eve", (90, "Eves"))
    return platform


def team_of(client: Client) -> Any:
    return client.get("/api/v1/teams/me", **JSON).data


def test_the_first_of_a_team_makes_it_and_the_next_join(in_teams: MemoryPlatform) -> None:
    ada, bob = in_teams.client(), in_teams.client()
    assert come_back(in_teams, ada).location == "/challenges"
    assert come_back(in_teams, bob, "bob").location == "/challenges"
    team = team_of(ada)
    assert (team["name"], team["oauth_id"], team["captain_id"]) == ("Lovelaces", 70, row(in_teams, "ada").id)
    assert team["members"] == [row(in_teams, "ada").id, row(in_teams, "bob").id]
    assert [event.event for event in rows(in_teams, events)] == ["user.created", "team.created", "user.created"]
    assert rows(in_teams, teams)[0].password is None


def test_a_full_team_takes_nobody_and_makes_no_account(in_teams: MemoryPlatform) -> None:
    in_teams.configure(team_size=1)
    come_back(in_teams, in_teams.client())
    bob = in_teams.client()
    assert refusal(bob, come_back(in_teams, bob, "bob")) == ["Teams are limited to 1 member."]
    in_teams.configure(team_size=2)
    come_back(in_teams, bob, "bob")
    in_teams.oauth_reach.add(10, "dan", (70, "Lovelaces"))
    dan = in_teams.client()
    assert refusal(dan, come_back(in_teams, dan, "dan")) == ["Teams are limited to 2 members."]
    assert {user.name for user in rows(in_teams, users)} == {"ada", "bob"}


def test_the_number_of_teams_is_limited_and_those_who_are_in_one_may_come(in_teams: MemoryPlatform) -> None:
    come_back(in_teams, in_teams.client())
    in_teams.configure(num_teams=1)
    eve = in_teams.client()
    reply = come_back(in_teams, eve, "eve")
    assert reply.status == 403
    assert "Reached the maximum number of teams (1). Please join an existing team." in reply.text
    assert come_back(in_teams, in_teams.client(), "bob").location == "/challenges"
    assert {user.name for user in rows(in_teams, users)} == {"ada", "bob"}


def test_who_is_in_a_team_stays_in_it(in_teams: MemoryPlatform, browser: SignUp) -> None:
    ada = browser("ada")
    ada.submit("/teams/new", name="Mine", password="p")
    come_back(in_teams, ada)
    assert team_of(ada)["name"] == "Mine"


@pytest.mark.parametrize("told", [None, {}, {"id": None, "name": None}])
def test_who_has_no_team_there_finds_one_here(in_teams: MemoryPlatform, told: Any) -> None:
    in_teams.oauth_reach.people["ada"]["team"] = told
    client = in_teams.client()
    assert come_back(in_teams, client).location == "/challenges"
    assert "Play with the official team" in client.get("/team").text


def test_a_team_of_the_same_name_is_another_team(in_teams: MemoryPlatform, browser: SignUp) -> None:
    browser("dan").submit("/teams/new", name="Lovelaces", password="p")
    ada = in_teams.client()
    come_back(in_teams, ada)
    assert team_of(ada)["name"] == "Lovelaces (2)"


def test_in_users_mode_teams_do_not_matter(platform: MemoryPlatform) -> None:
    come_back(platform, platform.client())
    assert rows(platform, teams) == []


# The provider's troubles


@pytest.mark.parametrize("fault", ["500", "201", "malformed", "array", "nothing", "elsewhere"])
def test_a_token_endpoint_that_gives_no_token_is_told(platform: MemoryPlatform, fault: str) -> None:
    platform.oauth_reach.faults["token"] = fault
    client = platform.client()
    assert refusal(client, come_back(platform, client)) == [TOKEN_FAILED]
    assert len(platform.oauth_reach.exchanges) == 1
    assert platform.oauth_reach.bearers == []


@pytest.mark.parametrize("fault", ["500", "201", "malformed", "array", "nothing", "elsewhere", "large"])
def test_a_user_endpoint_that_tells_of_nobody_is_told(platform: MemoryPlatform, fault: str) -> None:
    platform.oauth_reach.faults["user"] = fault
    client = platform.client()
    said = refusal(client, come_back(platform, client))
    assert said == [
        "OAuth user retrieval failure.", "MajorLeagueCyber does not answer at the moment. Please try again later.",
    ]  # fmt: skip
    assert rows(platform, users) == []


@pytest.mark.parametrize("wrong", [0, -1, 2**31, "7x", None, True, 7.5])
def test_an_id_that_can_not_be_stored_is_nobodys(platform: MemoryPlatform, wrong: Any) -> None:
    platform.oauth_reach.people["ada"]["id"] = wrong
    client = platform.client()
    assert refusal(client, come_back(platform, client))[0] == "OAuth user retrieval failure."


def test_a_provider_that_is_away_is_told(platform: MemoryPlatform) -> None:
    platform.oauth_reach.away = True
    client = platform.client()
    said = refusal(client, come_back(platform, client))
    assert said == [TOKEN_FAILED, "MajorLeagueCyber does not answer at the moment. Please try again later."]


@pytest.mark.parametrize("step", ["token", "user"])
def test_a_provider_that_is_silent_is_waited_for_so_long(platform: MemoryPlatform, step: str) -> None:
    platform.oauth_reach.faults[step] = "silent"
    client = platform.client()
    way = f"/redirect?code={platform.oauth_reach.grant('ada')}&state={state_of(client.get('/oauth'))}"
    waiting = Waiting(platform, client, way)
    platform.clock.advance(SECONDS - 0.1)
    assert waiting.replies() == []
    platform.clock.advance(0.2)
    (reply,) = waiting.replies()
    assert "does not answer" in refusal(client, reply)[-1]


class Waiting:
    """Somebody who waits for an answer."""

    def __init__(self, platform: MemoryPlatform, client: Client, way: str) -> None:
        stub: Any = StubTreq(platform.platform.resource)  # its functions are made at run time
        self._flush = stub.flush
        headers = {"Cookie": f"session={client.cookies['session']}"}
        self._outcome: list[Any] = []
        asking = stub.request("GET", f"http://ctf.example{way}", headers=headers, allow_redirects=False)
        asking.addBoth(self._outcome.append)

    def replies(self) -> list[Reply]:
        """The answer, where it has come."""
        self._flush()
        return [
            Reply(response.code, {"location": response.headers.getRawHeaders("location", [""])[0]}, b"")
            for response in self._outcome
        ]


def test_so_many_wait_for_a_provider_at_once(platform: MemoryPlatform) -> None:
    platform.oauth_reach.faults["token"] = "silent"
    waiting = []
    for _ in range(AT_ONCE):
        client = platform.client()
        waiting.append(Waiting(platform, client, f"/redirect?code=x&state={client.nonce}"))
    late = platform.client()
    assert late.get(f"/redirect?code=x&state={late.nonce}").status == 503
    platform.clock.advance(SECONDS)
    assert [reply.status for one in waiting for reply in one.replies()] == [302] * AT_ONCE
    del platform.oauth_reach.faults["token"]
    assert come_back(platform, late).location == "/challenges"


def test_no_secret_is_logged(platform: MemoryPlatform) -> None:
    said: list[str] = []

    @implementer(ILogObserver)
    def hear(event: Any) -> None:
        if event["log_level"] >= LogLevel.info:
            said.append(repr({key: value for key, value in event.items() if key != "log_logger"}))

    globalLogPublisher.addObserver(hear)
    try:
        for fault in ("500", "malformed", "nothing", ""):
            platform.oauth_reach.faults = {"user": fault} if fault else {}
            come_back(platform, platform.client())
    finally:
        globalLogPublisher.removeObserver(hear)
    heard = "\n".join(said)
    assert "MajorLeagueCyber" in heard
    secrets = [CLIENT["client_secret"], *(form["code"] for form in platform.oauth_reach.exchanges)]
    secrets += [bearer.removeprefix("Bearer ") for bearer in platform.oauth_reach.bearers]
    assert len(secrets) == 9
    assert not [secret for secret in secrets if secret in heard]


# Whom it is configured by


def test_what_the_deployment_says_wins() -> None:
    platform = MemoryPlatform(
        oauth=OAuthServer(
            client_id=CLIENT["client_id"],
            client_secret=CLIENT["client_secret"],
            authorization_endpoint="http://127.0.0.1/oauth/authorize",
            token_endpoint="http://127.0.0.1/oauth/token",
            api_endpoint="http://127.0.0.1/user",
        )
    ).setup(**dict.fromkeys(endpoints(), "https://elsewhere.example/"))
    platform.oauth_reach.add(7, "ada")
    assert come_back(platform, platform.client()).location == "/challenges"
    platform.close()


def test_an_administrator_has_the_deployments_secret_sent_nowhere() -> None:
    server = OAuthServer(client_id=CLIENT["client_id"], client_secret=CLIENT["client_secret"])
    platform = MemoryPlatform(oauth=server).setup(**endpoints())
    client = platform.client()
    assert client.get("/oauth").location.startswith("https://auth.majorleaguecyber.org/oauth/authorize?")
    come_back(platform, client)
    assert platform.oauth_reach.exchanges == []
    platform.close()
