"""Which URLs an agent may have, and what lies beside one."""

from __future__ import annotations

import pytest

from ctfd_twisted.koth.urls import beside, checked_url


@pytest.mark.parametrize(
    "url",
    [
        "http://hill.example.org:31337/status",
        "https://hill/status",
        "http://10.1.2.3:31337/status",
        "http://[::1]:31337/status",
        "https://[2001:db8::7]/status?a=b",
        "HTTP://xn--bcher-kva.example/",
        "http://a_b.local/status",
        "http://hill.example.org./status",
    ],
)
def test_a_host_by_name_or_address_is_accepted(url: str) -> None:
    assert checked_url(f" {url}\n") == url


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("", "printable"),
        ("hill:31337/status", "http://"),
        ("ftp://hill/status", "http://"),
        ("javascript:alert(1)", "http://"),
        ("http:///status", "host"),
        ("http://10.0.0.300/status", "host"),
        ("http://2130706433/status", "host"),
        ("http://[10.0.0.1]/status", "port|host"),
        ("http://[::1/status", "port"),
        ("http://-hill/status", "host"),
        ("http://hi ll/status", "printable"),
        ("http://hill\\@evil/status", "printable"),
        ("http://bücher.example/", "printable"),
        ("http://hill:0/", "port"),
        ("http://hill:65536/", "port"),
        ("http://hill:x/", "port"),
        ("http://me:secret@hill/", "api_key"),
        ("http://hill/#top", "fragment"),
        ("http://" + "a" * 64 + "/", "host"),
        ("http://" + "a." * 130 + "org/", "host"),
        ("http://hill/" + "a" * 2000, "2000"),
        ("http://expyuzz4wqqyqhjn.onion/status", "Tor"),
    ],
)
def test_anything_else_is_refused_and_the_message_says_why(url: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        checked_url(url)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://h:31337/status", "http://h:31337/healthcheck"),
        ("https://[::1]:1/a/b/status?x=1", "https://[::1]:1/a/b/healthcheck"),
        ("http://h", "http://h/healthcheck"),
        ("http://h/status/", "http://h/status/healthcheck"),
    ],
)
def test_the_health_check_lies_beside_the_status(url: str, expected: str) -> None:
    assert beside(url, "healthcheck") == expected
