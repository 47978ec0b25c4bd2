"""Which URLs may be registered, and which addresses are never connected to."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctfd_twisted.webhooks.egress import Egress, checked_url, is_onion, with_token

OPEN = Egress()
PUBLIC_ONLY = Egress(private=False)

LINK_LOCAL = [
    "169.254.169.254",
    "169.254.0.1",
    "fe80::1",
    "fe80::1%eth0",
    "::ffff:169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "2002:a9fe:a9fe::",
    "::169.254.169.254",
    "::ffff:0:a9fe:a9fe",
    "64:ff9b:1::a9fe:a9fe",
]
METADATA = [
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "fd00:ec2::254",
    "fd20:ce::254",
    "::ffff:168.63.129.16",
    "fd00:ec2::254%1",
]
PRIVATE = ["127.0.0.1", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "100.64.0.1", "::1", "::", "fd12::1"]  # noqa: S104 - judged, not bound
PUBLIC = ["93.184.215.14", "2606:2800:21f:cb07:6820:80da:af6b:8b2c", "::ffff:93.184.215.14"]


@pytest.mark.parametrize("address", LINK_LOCAL + METADATA)
def test_link_local_and_metadata_addresses_are_refused_whatever_the_settings(address: str) -> None:
    assert OPEN.refusal(address) is not None
    assert PUBLIC_ONLY.refusal(address) is not None


@pytest.mark.parametrize("address", PRIVATE)
def test_private_addresses_are_refused_where_the_setting_says_so(address: str) -> None:
    assert OPEN.refusal(address) is None
    assert "egress_private" in (PUBLIC_ONLY.refusal(address) or "")


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_let_through(address: str) -> None:
    assert OPEN.refusal(address) is None
    assert PUBLIC_ONLY.refusal(address) is None


def test_denied_networks_hold_for_every_form_of_an_address() -> None:
    egress = Egress.of("93.184.0.0/16, 2001:db8::/32\n198.51.100.7", private=True)
    assert not egress.unreadable
    for address in ("93.184.215.14", "::ffff:93.184.215.14", "2001:db8::9", "198.51.100.7"):
        assert "egress_deny" in (egress.refusal(address) or "")
    assert egress.refusal("198.51.100.8") is None


def test_whoever_denies_this_machine_denies_all_its_names() -> None:
    egress = Egress.of("127.0.0.0/8, ::1", private=True)
    for address in ("127.0.0.1", "0.0.0.0", "::1", "::", "::ffff:0.0.0.0"):  # noqa: S104 - judged, not bound
        assert "egress_deny" in (egress.refusal(address) or "")


def test_a_setting_that_can_not_be_read_lets_nothing_through() -> None:
    egress = Egress.of("10.0.0.0/8, ten.net", private=True)
    assert "'ten.net'" in (egress.refusal("93.184.215.14") or "")


@given(st.ip_addresses())
def test_what_is_let_through_with_private_ranges_off_is_global(address: IPv4Address | IPv6Address) -> None:
    if PUBLIC_ONLY.refusal(str(address)) is None:
        mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
        assert (mapped or address).is_global


@pytest.mark.parametrize(
    "url",
    [
        "http://receiver.example",
        "https://receiver.example:8443/hooks?kind=ctf&x=%20",
        "http://localhost:9000/",
        "http://127.0.0.1:9000/",
        "http://[::1]:9000/",
        "HTTPS://Receiver.Example./",
    ],
)
def test_a_receiver_has_a_name_or_an_address(url: str) -> None:
    assert checked_url(f"  {url} ", OPEN, onion=False) == url


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("", "printable"),
        ("receiver.example", "must begin"),
        ("ftp://receiver.example/", "must begin"),
        ("http://", "host"),
        ("http:///hook", "host"),
        ("http://a b/", "printable"),
        ("http://bücher.example/", "printable"),
        ("http://good.example\\@evil.example/", "backslashes"),
        ("http://user:pass@receiver.example/", "user name"),
        ("http://receiver.example/#part", "fragment"),
        ("http://receiver.example:0/", "port"),
        ("http://receiver.example:/", "port"),
        ("http://receiver.example:65536/", "port"),
        ("http://receiver.example:http/", "port"),
        ("http://[::1/", "can't be read"),
        ("http://[::1]x/", "host"),
        ("http://[::1%25lo]/", "host"),
        ("http://2130706433/", "host"),
        ("http://-a.example/", "host"),
        ("http://" + "a" * 2000, "Longer"),
        ("http://abcdef.onion/", "Tor"),
        ("http://169.254.169.254/latest", "link-local"),
        ("http://[fe80::1]/", "link-local"),
        ("http://[::ffff:169.254.169.254]/", "link-local"),
        ("http://metadata.google.internal./computeMetadata", "metadata"),
        ("http://168.63.129.16/", "metadata"),
    ],
)
def test_a_url_is_refused_with_its_reason(url: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        checked_url(url, OPEN, onion=False)


@given(st.text())
def test_any_text_is_a_url_or_refused_with_a_reason(text: str) -> None:
    try:
        url = checked_url("http://" + text, PUBLIC_ONLY, onion=True)
    except ValueError as error:
        assert str(error)  # noqa: PT017 - either outcome is right
    else:
        assert url.isascii()


def test_onion_services_are_reached_through_tor_alone() -> None:
    assert is_onion("ABC.onion.")
    assert checked_url("http://abcdef.onion/x", OPEN, onion=True) == "http://abcdef.onion/x"


def test_the_token_joins_the_urls_own_query() -> None:
    assert with_token("http://r/h", "T") == "http://r/h?token=T"
    assert with_token("http://r/h?a=1", "T") == "http://r/h?a=1&token=T"
