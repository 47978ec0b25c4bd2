"""A competition by hand, in a real browser, with JavaScript and without."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import shutil
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import requests
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright
from running import Person, PlatformProcess, Receiver, Running

from ctfd_twisted.testing.oauth import a_person, endpoints

pytestmark = pytest.mark.browser

#: ``make test`` says where it is, having installed it if it could.
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        if os.environ.get("CI") == "true":
            pytest.fail("no Chromium, and in CI nothing is left out")
        pytest.skip("no Chromium: install it, or say CHROMIUM=/path")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def platform(tmp_path: Path) -> Iterator[PlatformProcess]:
    with PlatformProcess(tmp_path) as running:
        yield running


class Screen:
    """Somebody's browser. What the console complains about is kept: a policy that is broken shows there."""

    def __init__(self, browser: Browser, platform: PlatformProcess, *, scripts: bool = True, **options: object) -> None:
        context = browser.new_context(base_url=platform.base, java_script_enabled=scripts, **options)  # type: ignore[arg-type]
        self.page: Page = context.new_page()
        self.complaints: list[str] = []
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.complaints.append(message.text)

    def set_up(self, mode: str) -> None:
        """Fill in the setup, whose first page every address leads to."""
        page = self.page
        page.goto("/")
        expect(page).to_have_url(re.compile("/setup$"))
        page.get_by_label("Name of the competition").fill("Harbour CTF")
        page.get_by_label("User name").fill("organiser")
        page.get_by_label("Email", exact=True).fill("organiser@example.org")
        page.get_by_label("Password").fill("a long password")
        page.get_by_label("Single players" if mode == "users" else "Teams").check()
        page.get_by_role("button", name="Finish the setup").click()
        expect(page.get_by_role("heading", name="Harbour CTF")).to_be_visible()

    def register(self, name: str) -> None:
        """Sign up as *name*."""
        page = self.page
        page.goto("/register")
        page.get_by_label("User name").fill(name)
        page.get_by_label("Email").fill(f"{name}@example.org")
        page.get_by_label("Password").fill(f"{name}-password")
        page.get_by_role("button", name="Register").click()

    def log_in(self, name: str, password: str) -> None:
        """Sign in."""
        page = self.page
        page.goto("/login")
        page.get_by_label("User name or email").fill(name)
        page.get_by_label("Password").fill(password)
        page.get_by_role("button", name="Log in").click()


def a_token(screen: Screen, description: str) -> str:
    """A token made on the settings page."""
    page = screen.page
    page.goto("/settings")
    page.get_by_role("tab", name="Access Tokens").click()
    expires = datetime.now(UTC) + timedelta(days=30)
    expect(page.get_by_label("Expires on")).to_have_value(re.compile(f"{expires:%Y-%m-}"))
    page.get_by_label("Description").fill(description)
    page.get_by_role("button", name="Generate").click()
    shown = page.locator("#token-value")
    expect(shown).to_have_text(re.compile("^ctfd_[0-9a-f]{64}$"))
    return shown.inner_text()


def some_challenges(admin: Person) -> None:
    """Two challenges in two categories, each with a hint. Their text tries what htmx would act on, if it looked."""
    trap = '<i hx-get="/nowhere" hx-trigger="load"></i><i data-hx-get="/nowhere" data-hx-trigger="load"></i>'
    for name, category, flag in (("Baby RSA", "crypto", "flag{rsa}"), ("Cookie jar", "web", "flag{jar}")):
        body = {"name": name, "category": category, "value": 100, "type": "standard", "state": "visible"}
        challenge = admin.call("POST", "/challenges", {**body, "description": f"Find **{category}** {trap}"})
        admin.call("POST", "/flags", {"challenge_id": challenge["id"], "type": "static", "content": flag})
        hint = {"challenge_id": challenge["id"], "title": "A nudge", "content": f"Look *closer* {trap}", "cost": 30}
        admin.call("POST", "/hints", hint)


def test_a_competition_by_hand(browser: Browser, platform: PlatformProcess) -> None:
    """Setup, token, challenge, flag, scoreboard: with JavaScript, and without a word on the console."""
    organiser = Screen(browser, platform)
    organiser.set_up("users")
    token = a_token(organiser, "ctfcli")
    some_challenges(Person(platform, token))
    rows = organiser.page.locator("#token-table tbody tr")
    expect(rows).to_have_count(1)
    organiser.page.reload()
    expect(rows.first).to_contain_text("ctfcli")
    expect(organiser.page.locator("body")).not_to_contain_text(token)

    alice = Screen(browser, platform)
    alice.register("alice")
    page = alice.page
    expect(page.get_by_role("heading", name="Challenges")).to_be_visible()
    page.get_by_role("link", name="Baby RSA").click()
    window = page.get_by_role("dialog")
    expect(window.get_by_role("heading", name="Baby RSA")).to_be_visible()
    assert re.search(r"#Baby%20RSA-\d+$", page.url)
    window.get_by_label("Flag").fill("flag{wrong}")
    window.get_by_role("button", name="Submit").click()
    expect(window.get_by_role("alert")).to_have_text("Incorrect")
    expect(window.get_by_label("Flag")).to_be_focused()
    hint = window.get_by_role("button", name="Unlock for 30 points")
    window.get_by_text("A nudge").click()
    hint.click()
    expect(window.get_by_role("alert")).to_have_text("You do not have enough points to unlock this hint")
    window.get_by_label("Flag").fill("flag{rsa}")
    page.keyboard.press("Enter")
    expect(window.get_by_role("alert")).to_have_text("Correct")
    window.get_by_text("A nudge").click()
    hint.click()
    expect(window.get_by_text("Look closer")).to_be_visible()
    expect(window.get_by_text("A nudge")).to_be_focused()
    expect(hint).to_be_hidden()
    page.keyboard.press("Escape")
    expect(window).to_be_hidden()
    expect(page.get_by_role("link", name="Solved. Baby RSA")).to_be_focused()

    page.get_by_role("link", name="Scoreboard").click()
    expect(page.get_by_role("row", name=re.compile("1 alice you 70"))).to_be_visible()

    page.goto("/challenges#Cookie%20jar-2")
    expect(window.get_by_role("heading", name="Cookie jar")).to_be_visible()
    assert alice.complaints == []
    assert organiser.complaints == []


def test_a_token_that_is_deleted_is_gone(browser: Browser, platform: PlatformProcess) -> None:
    organiser = Screen(browser, platform)
    organiser.set_up("users")
    token = a_token(organiser, "short-lived")
    organiser.page.on("dialog", lambda dialog: dialog.accept())
    organiser.page.get_by_role("button", name="Delete short-lived").click()
    expect(organiser.page.get_by_text("You have no access tokens.")).to_be_visible()
    assert Person(platform, token).raw("GET", "/users/me").status_code == 401


def test_the_profile_is_saved_and_errors_stand_at_their_fields(browser: Browser, platform: PlatformProcess) -> None:
    organiser = Screen(browser, platform)
    organiser.set_up("users")
    page = organiser.page
    page.goto("/settings")
    page.get_by_label("Website").fill("nonsense")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_label("Website")).to_have_accessible_description(re.compile("proper URL"))
    page.get_by_label("Website").fill("https://organiser.example/")
    page.get_by_label("Country").select_option("CH")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Your profile has been saved.")).to_be_visible()
    page.reload()
    expect(page.get_by_label("Website")).to_have_value("https://organiser.example/")
    expect(page.get_by_label("Country")).to_have_value("CH")


def test_playing_needs_no_javascript(browser: Browser, platform: PlatformProcess) -> None:
    """Teams, challenges, flags and the board, in a browser that runs no scripts, as in Tor Browser's safest mode."""
    organiser = Screen(browser, platform)
    organiser.set_up("teams")
    some_challenges(Person(platform, a_token(organiser, "script")))

    bob = Screen(browser, platform, scripts=False, viewport={"width": 390, "height": 844})
    bob.register("bob")
    page = bob.page
    expect(page.get_by_role("heading", name="Join a team, or found one")).to_be_visible()
    page.get_by_role("link", name="Create a team").click()
    page.get_by_label("Team name").fill("Segfault Sailors")
    page.get_by_label("Team password").fill("ahoy")
    page.get_by_role("button", name="Create the team").click()

    page.get_by_role("link", name="Cookie jar").click()
    assert page.url.endswith("/challenges?open=2")
    page.get_by_label("Flag").fill("flag{jar}")
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("alert")).to_have_text("Correct")
    page.get_by_text("A nudge").click()
    page.get_by_role("button", name="Unlock for 30 points").click()
    expect(page.get_by_text("Look closer")).to_be_visible()
    page.get_by_role("link", name="Close").click()
    expect(page.get_by_role("link", name="Solved. Cookie jar")).to_be_visible()
    page.get_by_role("link", name="Scoreboard").click()
    expect(page.get_by_role("row", name=re.compile("Segfault Sailors your team 70"))).to_be_visible()
    page.get_by_role("link", name="Segfault Sailors").click()
    expect(page.get_by_role("row", name=re.compile("Cookie jar"))).to_be_visible()
    bob.page.goto("/logout")
    bob.log_in("bob", "wrong")
    expect(page.get_by_text("Your username or password is incorrect")).to_be_visible()


def test_a_hill_is_made_tried_and_saved_by_hand(browser: Browser, platform: PlatformProcess) -> None:
    """The form says what is wrong at each field, and the probe says how far it came."""
    organiser = Screen(browser, platform)
    organiser.set_up("users")
    page = organiser.page
    page.goto("/admin")
    page.get_by_role("link", name="Hills").click()
    page.get_by_role("link", name="New hill").click()
    page.get_by_label("Name", exact=True).fill("Lighthouse")
    page.get_by_label("Category").fill("hills")
    page.get_by_label("URL", exact=True).fill("nonsense")
    page.get_by_label("Reward").fill("5")
    page.get_by_role("button", name="Create the hill").click()
    expect(page.get_by_label("URL", exact=True)).to_have_attribute("aria-invalid", "true")
    # Nobody listens on the discard port.
    page.get_by_label("URL", exact=True).fill("http://127.0.0.1:9/status")
    page.get_by_role("button", name="Test these settings").click()
    expect(page.get_by_role("heading", name="The hill would be: unreachable")).to_be_visible()
    expect(page.locator(".probe li.failed")).to_contain_text("Connect to the agent")
    page.get_by_role("button", name="Create the hill").click()
    expect(page.get_by_role("heading", name="Lighthouse")).to_be_visible()
    page.get_by_label("State").select_option("visible")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    page.goto("/challenges")
    page.get_by_role("link", name="Lighthouse").click()
    expect(page.get_by_role("dialog").get_by_text("5 points per tick", exact=True)).to_be_visible()


def test_a_webhook_is_added_validated_and_tried_by_hand(browser: Browser, platform: PlatformProcess) -> None:
    organiser = Screen(browser, platform)
    organiser.set_up("users")
    page = organiser.page
    page.goto("/admin/webhooks")
    page.get_by_text("Show the secret").click()
    secret = page.locator("details code").first.inner_text()
    with Receiver(lambda token: hmac.new(secret.encode(), token.encode(), hashlib.sha256).hexdigest()) as receiver:
        page.get_by_label("URL").fill(receiver.url)
        page.get_by_role("button", name="Add").click()
        expect(page.get_by_role("heading", name=receiver.url)).to_be_visible()
        expect(page.locator(".state").first).to_have_text("pending")
        page.get_by_role("button", name="Validate").click()
        expect(page.locator(".state").first).to_have_text("active")
        page.get_by_role("button", name="Send a test").click()
        expect(page.get_by_text(re.compile("Answered 200 in"))).to_be_visible()
        assert [headers["Service-Webhook-Event"] for headers, _ in receiver.events] == ["ping"]
    organiser.page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Remove").click()
    expect(page.get_by_text("Nobody is told yet.")).to_be_visible()
    assert organiser.complaints == []


def test_settings_and_pictures_are_saved_and_mail_is_tried_by_hand(
    browser: Browser, platform: PlatformProcess, tmp_path: Path
) -> None:
    """Each part is saved by itself, a picture shows at once, and a mail server that is not there is told of."""
    logo = tmp_path / "logo.svg"
    logo.write_text('<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40"><path d="M0 0h40v40z"/></svg>')
    organiser = Screen(browser, platform)
    page = organiser.page
    organiser.set_up("users")
    page.goto("/admin")
    page.get_by_role("link", name="Settings", exact=True).first.click()
    general = page.locator("form#general")
    general.get_by_label("Name").fill("Lighthouse CTF")
    general.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved.", exact=True)).to_be_visible()
    page.get_by_label("Logo").set_input_files(logo)
    shown = page.get_by_role("img", name="The present logo")
    expect(shown).to_be_visible()
    assert shown.evaluate("image => image.naturalWidth") == 40
    assert page.locator(".brand img").evaluate("image => image.naturalWidth") == 40
    page.locator("[data-picture=ctf_logo]").get_by_role("button", name="Remove").click()
    expect(shown).to_have_count(0)
    expect(page.locator(".brand")).to_contain_text("Lighthouse CTF")
    email = page.locator("form#email")
    email.get_by_label("Server", exact=True).fill("127.0.0.1")
    # Nobody listens on the discard port.
    email.get_by_label("Port", exact=True).fill("9")
    email.get_by_label("The server wants").check()
    email.get_by_label("User name", exact=True).fill("harbour")
    email.get_by_label("Password", exact=True).fill("swordfish")
    email.get_by_role("button", name="Save").click()
    expect(email.get_by_label("Password", exact=True)).to_have_value("")
    page.get_by_role("button", name="Send a test mail").click()
    expect(page.locator("#mail-test .alert")).to_contain_text("refused the connection")
    expect(page.locator("#mail-test li strong")).to_have_text(["compose", "resolve", "connect"])
    assert "swordfish" not in page.content()
    assert organiser.complaints == []


def test_the_switch_between_light_and_dark_is_remembered(browser: Browser, platform: PlatformProcess) -> None:
    screen = Screen(browser, platform, color_scheme="light")
    screen.page.goto("/setup")
    paper = "getComputedStyle(document.documentElement).backgroundColor"
    light = screen.page.evaluate(paper)
    screen.page.get_by_role("button", name="Switch between light and dark").click()
    dark = screen.page.evaluate(paper)
    assert light != dark
    screen.page.reload()
    assert screen.page.evaluate(paper) == dark


def test_every_page_fits_a_phone(browser: Browser, platform: PlatformProcess) -> None:
    """No page is wider than the screen: what is wide scrolls by itself."""
    organiser = Screen(browser, platform, viewport={"width": 320, "height": 640})
    organiser.set_up("users")
    some_challenges(Person(platform, a_token(organiser, "script")))
    paths = (
        "/", "/login", "/challenges", "/challenges?open=1", "/scoreboard", "/settings", "/users", "/user", "/nowhere",
        "/admin/statistics", "/admin/koth", "/admin/koth/new", "/admin/webhooks",
        "/admin/config",
    )  # fmt: skip
    wide = {}
    for path in paths:
        organiser.page.goto(path)
        width = organiser.page.evaluate("document.documentElement.scrollWidth")
        if width > 320:
            wide[path] = width
    assert wide == {}


def test_one_logs_out_everywhere_else(browser: Browser, platform: PlatformProcess) -> None:
    """The settings tell where one is logged in, and end it there."""
    organiser = Screen(browser, platform)
    organiser.set_up("users")
    others = [Screen(browser, platform) for _ in range(3)]
    for other in others:
        other.log_in("organiser", "a long password")
        expect(other.page).to_have_url(re.compile("/challenges$"))
    page = organiser.page
    page.goto("/settings#sessions")
    rows = page.locator("#session-table tbody tr")
    expect(rows).to_have_count(4)
    expect(rows.filter(has_text="this one")).to_have_count(1)
    rows.get_by_role("button").first.click()
    expect(rows).to_have_count(3)
    page.get_by_role("button", name="Log out everywhere else").click()
    expect(rows).to_have_count(1)
    for other in others:
        other.page.goto("/settings")
        expect(other.page).to_have_url(re.compile("/login"))
    page.reload()
    expect(rows).to_have_count(1)
    assert organiser.complaints == []


@pytest.fixture
def league(tmp_path: Path) -> Iterator[Running]:
    with Running(
        [sys.executable, "-m", "ctfd_twisted.testing.oauth", "http://nowhere.invalid/"], tmp_path / "league"
    ) as one:
        one.wait_for("Provider at")
        yield one


def test_somebody_comes_from_majorleaguecyber(browser: Browser, platform: PlatformProcess, league: Running) -> None:
    """From the page they came for to the league, where they say who they are, and back to that page."""
    base = league.wait_for(r"Provider at (http://\S+)")[1]
    people = {"ada": a_person(7, "ada", (70, "Lovelaces"))}
    requests.post(f"{base}/control", json={"callback": f"{platform.base}/redirect", "people": people}, timeout=20)
    organiser = Screen(browser, platform)
    organiser.set_up("teams")
    admin = Person(platform, a_token(organiser, "script"))
    admin.call("PATCH", "/configs", {**endpoints(base), "registration_visibility": "mlc"})

    ada = Screen(browser, platform, scripts=False)
    page = ada.page
    page.goto("/settings")
    page.get_by_role("link", name="Log in with MajorLeagueCyber").click()
    page.get_by_role("button", name="Deny").click()
    expect(page.get_by_text("Received redirect without OAuth code.")).to_be_visible()
    expect(page.get_by_role("link", name="Register")).to_have_count(0)
    page.get_by_role("link", name="Log in with MajorLeagueCyber").click()
    page.get_by_role("button", name="ada").click()
    expect(page).to_have_url(re.compile(r"/settings\?$"))
    expect(page.get_by_label("User name")).to_have_value("ada")
    page.goto("/team")
    expect(page.get_by_role("heading", name="Lovelaces")).to_be_visible()
    assert ada.complaints == []


def test_what_happens_shows_on_pages_that_are_open(browser: Browser, platform: PlatformProcess) -> None:
    """The board moves and notifications come up without anybody asking; there is a number of those not read yet."""
    organiser = Screen(browser, platform)
    organiser.set_up("users")
    admin = Person(platform, a_token(organiser, "script"))
    some_challenges(admin)
    ada, bob = Screen(browser, platform), Screen(browser, platform)
    ada.register("ada")
    bob.register("bob")
    page = ada.page
    page.goto("/scoreboard")
    expect(page.get_by_text("Nobody has scored yet.")).to_be_visible()
    rows = page.locator(".board tbody tr")

    players = {one["name"]: one["id"] for one in admin.call("GET", "/users")}
    for name, challenge, expected in (
        ("bob", 1, ["1 bob 100"]),
        ("ada", 1, ["1 bob 100", "2 ada you 100"]),
        ("ada", 2, ["1 ada you 200", "2 bob 100"]),
    ):
        body = {"user_id": players[name], "challenge_id": challenge, "type": "correct", "provided": "", "ip": "::1"}
        admin.call("POST", "/submissions", body)
        for number, text in enumerate(expected):
            expect(rows.nth(number)).to_have_text(re.compile(r"\s*".join(text.split(" "))))
        expect(rows).to_have_count(len(expected))
    expect(page.locator("#standing-count")).to_have_text("2 players")
    assert page.locator("tr[data-own]").count() == 1

    admin.call("POST", "/notifications", {"title": "Lunch <b>is</b> served", "content": "Soup"})
    toast = page.locator(".toasts > div")
    expect(toast).to_contain_text("Lunch <b>is</b> served")
    page.locator("details.who summary").click()
    expect(page.locator("#unread")).to_have_text("1")
    toast.get_by_role("button", name="Close").click()
    expect(toast).to_have_count(0)
    page.locator("details.who summary").click()
    page.get_by_role("link", name="Notifications").click()
    expect(page.get_by_role("heading", name="Lunch <b>is</b> served")).to_be_visible()
    expect(page.locator("#unread")).to_be_hidden()
    page.goto("/scoreboard")
    expect(rows).to_have_count(2)
    expect(page.locator("#unread")).to_be_hidden()
    assert ada.complaints == []
    assert bob.complaints == []


def test_pages_go_without_events_where_they_are_turned_off(browser: Browser, tmp_path: Path) -> None:
    with PlatformProcess(tmp_path, None, "--server-sent-events", "false") as platform:
        organiser = Screen(browser, platform)
        organiser.set_up("users")
        admin = Person(platform, a_token(organiser, "script"))
        admin.call("POST", "/notifications", {"title": "before", "content": "Soup"})
        page = organiser.page
        page.goto("/scoreboard")
        page.locator("details.who summary").click()
        expect(page.locator("#unread")).to_have_text("1")
        assert organiser.complaints == []
