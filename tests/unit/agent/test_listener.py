"""The words for an address."""

import pytest
from twisted.internet.address import IPv4Address, IPv6Address, UNIXAddress
from twisted.internet.interfaces import IAddress

from koth_agent.listener import host_and_port, spell_address


class Onion:
    """What txtorcon's address of an onion service shows."""

    onion_uri = "abcdef.onion"
    onion_port = 31337


@pytest.mark.parametrize(
    ("address", "text"),
    [
        (IPv4Address("TCP", "0.0.0.0", 31337), "0.0.0.0:31337"),  # noqa: S104
        (IPv6Address("TCP", "::", 31337), "[::]:31337"),
        (UNIXAddress("/run/agent.sock"), "/run/agent.sock"),
        (Onion(), "abcdef.onion:31337"),
    ],
)
def test_a_listening_address_in_one_word(address: IAddress, text: str) -> None:
    assert spell_address(address) == text


def test_ipv6_stands_in_brackets() -> None:
    assert (host_and_port("127.0.0.1", 1), host_and_port("::1", 1)) == ("127.0.0.1:1", "[::1]:1")
