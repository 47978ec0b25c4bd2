"""After signing in one stays here, whatever ``next`` says and whatever browser reads it."""

from __future__ import annotations

from urllib.parse import urljoin, urlsplit

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ctfd_twisted.accounts.redirects import LONGEST, is_safe, safe_next

ORIGIN = "https://ctf.example:8443"

ELSEWHERE = [
    "//google.com",
    "///google.com",
    "////google.com",
    "/\\/google.com",
    "\\/\\/google.com",
    "\\\\google.com",
    "/\\google.com",
    "\t//google.com",
    "/\t/google.com",
    "/\n/google.com",
    " //google.com",
    "\x01//google.com",
    "//x@evil",
    "//ctf.example:8443@evil",
    "https://google.com",
    "HTTPS://google.com/ctf.example",
    "http:google.com",
    "https:/google.com",
    "https:///google.com",
    "javascript:alert(1)",
    "JaVaScript:alert(1)",
    "java\tscript:alert(1)",
    "data:text/html,x",
    "//2130706433",
    "//ctf.example",
    "https://ctf.example",
    "//ctf.example:80x",
    "//[::1",
    "\u200b//google.com",
    "\u200bpath",
    "//google\u202e.com",
    "//ctf.example\u200b:8443",
    "ftp://ctf.example:8443/",
    "//",
    "//?x",
    "\\\\",
    "",
    " ",
    "\n",
    "/" + "a" * LONGEST,
]
HERE = [
    "/",
    "/challenges",
    "/path?x=http://google.com",
    "path",
    "?x=1",
    "#top",
    "https://ctf.example:8443/challenges",
    "hTTpS://ctf.example:8443/",
    "https://CTF.example:8443/",
    "//ctf.example:8443/",
    "%2fgoogle.com",
    "/%2f/google.com",
    "/ünïcode",
]


@pytest.mark.parametrize("target", ELSEWHERE)
def test_what_leads_elsewhere_is_refused(target: str) -> None:
    assert not is_safe(target, ORIGIN)
    assert safe_next(target, ORIGIN) is None


@pytest.mark.parametrize("target", HERE)
def test_what_stays_here_is_followed(target: str) -> None:
    assert is_safe(target, ORIGIN)
    assert safe_next(target, ORIGIN) is not None


def test_no_next_is_none() -> None:
    assert safe_next(None, ORIGIN) is None


def test_the_location_is_ascii_without_backslashes() -> None:
    assert safe_next("/ü b\\c\t", ORIGIN) == "/%C3%BC%20b%5Cc"


pieces = st.sampled_from(
    [
        "/",
        "\\",
        "//",
        "google.com",
        "ctf.example",
        ":8443",
        "@",
        "https:",
        "http:",
        "javascript:",
        "\t",
        "\n",
        "\r",
        " ",
        "?",
        "#",
    ]
)
targets = st.lists(pieces | st.characters(), max_size=12).map("".join)


@given(targets)
@example("/\\\t/google.com")
def test_a_followed_target_resolves_to_the_origin_as_browsers_resolve_it(target: str) -> None:
    location = safe_next(target, ORIGIN)
    if location is None:
        return
    assert location.isascii()
    assert not set(location) & set("\\\t\r\n ")
    # The WHATWG parser takes slashes and backslashes alike after a special scheme, and drops empty authorities.
    assert not location.startswith("//") or location.lower().startswith("//ctf.example:8443")
    there = urlsplit(urljoin(ORIGIN + "/login", location))
    assert there.scheme in {"http", "https"}
    assert there.netloc.lower() == "ctf.example:8443"
