"""The ``Host`` header."""

from __future__ import annotations

import pytest

from ctfd_twisted.http.hosts import is_host, is_served


@pytest.mark.parametrize(
    "header",
    [
        b"ctf.example",
        b"CTF.example.:8000",
        b"localhost",
        b"10.0.0.1:80",
        b"[::1]",
        b"[2001:db8::1]:443",
        b"a_b.x",
        b"xn--4ca",
    ],
)
def test_names_and_addresses_are_hosts(header: bytes) -> None:
    assert is_host(header)


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"a..b",
        b"a" * 64,
        b"\xff",
        b"a b",
        b"ours:80@theirs",
        b"ours:theirs",
        b"ours/",
        b"a:b:80",
        b"::1",
        b"ours:",
        b"ours\n",
        b"[ours]",
    ],
)
def test_anything_else_is_none(header: bytes) -> None:
    assert not is_host(header)


def test_served_are_the_names_themselves_and_what_lies_below_a_dot() -> None:
    names = ("ctf.example", ".event.example", "[::1]")
    assert all(
        is_served(host, names) for host in (b"CTF.example:80", b"event.example", b"a.event.example", b"[::1]:80")
    )
    assert not any(is_served(host, names) for host in (b"", b"a.ctf.example", b"notevent.example", b"ctf.example.evil"))
