"""MajorLeagueCyber hands over its id and its secret, to whoever sets the competition up."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from ctfd_twisted.accounts.integrations_page import SECONDS
from ctfd_twisted.competition.store import read_competition
from ctfd_twisted.testing import Client, MemoryPlatform

SETUP = {"ctf_name": "My CTF", "name": "admin", "email": "admin@example.org", "password": "secret"}
HANDED = {"name": "mlc", "mlc_client_id": "platform", "mlc_client_secret": "handed over"}
PAGE = "/setup/integrations"


@pytest.fixture
def fresh() -> Iterator[MemoryPlatform]:
    platform = MemoryPlatform()
    yield platform
    platform.close()


def state_of(browser: Client) -> str:
    page = browser.get("/setup").text
    found = re.search(r'STATE = "([\w.-]+)"', page)
    assert found is not None
    nonce = re.search("[0-9a-f]{64}", page)
    assert nonce is not None
    assert nonce[0] == browser.nonce, "scripts take the first such text for the nonce"
    return found[1]


def client_of(platform: MemoryPlatform) -> tuple[object, object]:
    settings = platform.run(read_competition)
    return settings.get("oauth_client_id"), settings.get("oauth_client_secret")


def test_what_is_handed_over_during_the_setup_is_kept(fresh: MemoryPlatform) -> None:
    browser = fresh.client()
    reply = browser.get(PAGE, params={**HANDED, "state": state_of(browser)})
    assert (reply.status, "You may close this window" in reply.text) == (200, True)
    assert client_of(fresh) == ("platform", "handed over")
    assert "handed over" not in reply.text
    assert browser.submit("/setup", **SETUP).location == "/"
    assert client_of(fresh) == ("platform", "handed over")


def test_a_form_hands_it_over_too(fresh: MemoryPlatform) -> None:
    browser = fresh.client()
    assert browser.submit(PAGE, **HANDED, state=state_of(browser)).status == 200
    assert client_of(fresh) == ("platform", "handed over")
    assert browser.request("POST", PAGE, data={**HANDED, "state": state_of(browser)}).status == 403


def test_only_the_browser_of_the_setup_hands_over_within_an_hour(fresh: MemoryPlatform) -> None:
    browser, other = fresh.client(), fresh.client()
    state = state_of(browser)
    assert other.get("/setup").status == 200
    for client, shown in ((other, state), (browser, ""), (browser, state[:-1]), (browser, browser.nonce)):
        assert client.get(PAGE, params={**HANDED, "state": shown}).status == 403
    assert browser.get(PAGE, params={**HANDED, "name": "other", "state": state}).status == 404
    fresh.clock.advance(SECONDS + 1)
    assert browser.get(PAGE, params={**HANDED, "state": state}).status == 403
    assert client_of(fresh) == (None, None)


def test_afterwards_administrators_alone_get_so_far(fresh: MemoryPlatform) -> None:
    browser, other = fresh.client(), fresh.client()
    states = state_of(browser), state_of(other)
    browser.submit("/setup", **SETUP)
    for client, state in ((browser, states[0]), (other, states[1])):
        assert client.get(PAGE, params={**HANDED, "state": state}).status == 403
    assert client_of(fresh) == (None, None)
