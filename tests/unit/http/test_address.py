"""Whose address counts behind proxies."""

from __future__ import annotations

from ipaddress import ip_network

import pytest

from ctfd_twisted.http.address import client_address, neighbourhood

TRUSTED = [ip_network("10.0.0.0/8"), ip_network("::1/128"), ip_network("127.0.0.1/32")]


@pytest.mark.parametrize(
    ("peer", "forwarded", "address"),
    [
        ("127.0.0.1", ["203.0.113.9"], "203.0.113.9"),
        ("127.0.0.1", ["6.6.6.6, 203.0.113.9, 10.1.1.1"], "203.0.113.9"),
        ("127.0.0.1", ["6.6.6.6", "203.0.113.9"], "203.0.113.9"),
        ("198.51.100.1", ["203.0.113.9"], "198.51.100.1"),
        ("127.0.0.1", ["10.2.2.2"], "127.0.0.1"),
        ("127.0.0.1", ["no address"], "127.0.0.1"),
        ("127.0.0.1", [], "127.0.0.1"),
        ("::ffff:10.0.0.1", ["2001:db8::1"], "2001:db8::1"),
        ("::1", ["[2001:db8::2]"], "2001:db8::2"),
    ],
)
def test_the_first_untrusted_hop_from_the_right_is_the_client(peer: str, forwarded: list[str], address: str) -> None:
    assert client_address(peer, forwarded, TRUSTED) == address


def test_without_trusted_proxies_nobody_is_believed() -> None:
    assert client_address("127.0.0.1", ["203.0.113.9"], []) == "127.0.0.1"


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("203.0.113.9", "203.0.113.9"),
        ("::ffff:203.0.113.9", "::ffff:203.0.113.9"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::1", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::1", "2001:db8:1:3::/64"),
        ("", ""),
    ],
)
def test_an_ipv6_address_is_counted_with_its_network(address: str, counted: str) -> None:
    assert neighbourhood(address) == counted
