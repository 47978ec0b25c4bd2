"""Who may ask."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from koth_agent.access import carries_key, may_connect, parse_networks

EVERYWHERE = parse_networks("0.0.0.0/0,::/0")


@pytest.mark.parametrize("value", [b"K", b"Token K", b"token K", b"TOKEN  K "])
def test_the_key_is_taken_bare_and_as_a_token(value: bytes) -> None:
    assert carries_key([value], b"K")


@pytest.mark.parametrize("value", [b"", b"k", b"K2", b"Token", b"Token ", b"Token k", b"Bearer K", b"TokenK", b" K"])
def test_anything_else_is_refused(value: bytes) -> None:
    assert not carries_key([value], b"K")


def test_no_header_or_two_of_them_are_refused() -> None:
    assert not carries_key([], b"K")
    assert not carries_key([b"K", b"K"], b"K")


def test_a_key_with_a_space_in_it_works_both_ways() -> None:
    assert carries_key([b"Token of love"], b"Token of love")
    assert carries_key([b"Token of love"], b"of love")
    assert carries_key([b"Token Token of love"], b"Token of love")


@given(key=st.binary(min_size=1), other=st.binary())
def test_only_the_key_opens(key: bytes, other: bytes) -> None:
    assert carries_key([key], key)
    assert carries_key([b"Token " + key.strip()], key.strip())
    if other != key and other.partition(b" ")[2].strip() != key:
        assert not carries_key([other], key)


@pytest.mark.parametrize("host", ["127.0.0.1", "203.0.113.9", "::1", "2001:db8::1", "::ffff:10.1.2.3", "fe80::1%eth0"])
def test_everybody_is_inside_the_default(host: str) -> None:
    assert may_connect(host, EVERYWHERE)


@pytest.mark.parametrize(
    ("origin", "host", "inside"),
    [
        ("10.0.0.0/8", "10.255.0.1", True),
        ("10.0.0.0/8", "11.0.0.1", False),
        ("10.0.0.0/8", "::ffff:10.0.0.1", True),
        ("10.0.0.0/8", "::ffff:11.0.0.1", False),
        ("10.0.0.0/8", "::1", False),
        ("::/0", "10.0.0.1", False),
        ("::/0", "::ffff:10.0.0.1", False),  # as the Go agent has it: IPv4 is IPv4, however it comes
        ("::ffff:10.0.0.0/104", "10.0.0.1", True),
        ("::ffff:10.0.0.0/104", "::ffff:11.0.0.1", False),
        ("2001:db8::/32", "2001:db8:1::5", True),
        ("10.1.2.3/8", "10.9.9.9", True),  # host bits are cut off, as in the Go agent
        (" 192.0.2.1 , 198.51.100.0/24", "192.0.2.1", True),
        ("192.0.2.1,198.51.100.0/24", "192.0.2.2", False),
    ],
)
def test_ranges(origin: str, host: str, *, inside: bool) -> None:
    assert may_connect(host, parse_networks(origin)) is inside


@pytest.mark.parametrize("origin", ["", "10.0.0.0/33", "10.0.0.0/8,", "everywhere", "10.0.0", "::/129"])
def test_a_bad_range_is_a_value_error(origin: str) -> None:
    with pytest.raises(ValueError, match="network"):
        parse_networks(origin)
