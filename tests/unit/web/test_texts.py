"""How values read on a page."""

from datetime import UTC, datetime

import pytest

from ctfd_twisted.web.texts import browser, counted, grouped, lasting, web_link, when


def test_an_instant_is_a_time_element_in_utc() -> None:
    assert str(when(datetime(2026, 11, 20, 12, 5, 7, tzinfo=UTC))) == (
        '<time datetime="2026-11-20T12:05:07Z">2026-11-20 12:05 UTC</time>'
    )
    assert when(0) == '<time datetime="1970-01-01T00:00:00Z">1970-01-01 00:00 UTC</time>'
    assert "never" in when(None)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (-5, "0 s"),
        (59.6, "1 min"),
        (61, "1 min 1 s"),
        (3600, "1 h"),
        (90_061, "1 d 1 h"),
        (86_405, "1 d 5 s"),
    ],
)
def test_lengths_of_time_have_two_units_at_most(seconds: float, text: str) -> None:
    assert lasting(seconds) == text


def test_counts_agree_with_their_nouns() -> None:
    assert counted(1, "solve") == "1 solve"
    assert counted(0, "solve") == "0 solves"
    assert counted(2, "try", "tries") == "2 tries"


def test_long_numbers_are_grouped() -> None:
    assert grouped(9999) == "9999"
    assert grouped(12500) == "12\u202f500"
    assert grouped(-12500) == "-12\u202f500"


@pytest.mark.parametrize(
    "address", ["javascript:alert(1)", "data:text/html,x", "//h", "ftp://h", "", None, "httpx://h"]
)
def test_only_addresses_of_the_web_become_links(address: str | None) -> None:
    assert web_link(address) == ""


def test_an_address_of_the_web_is_kept() -> None:
    assert web_link(" HTTPS://a.example/ ") == "HTTPS://a.example/"


@pytest.mark.parametrize(
    ("user_agent", "shown"),
    [
        ("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox on Linux"),
        ("Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/140.0 Safari/537.36 Edg/140.0", "Edge on Windows"),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) Version/18.5 Safari/604.1", "Safari on iOS"),
        ("python-requests/2.32", "python-requests/2.32"),
        ("x" * 400, "x" * 60),
        (" ", "Unknown"),
    ],
)
def test_a_browser_is_named(user_agent: str, shown: str) -> None:
    assert browser(user_agent) == shown
