"""What a node says about itself in the log."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.address import IPv4Address, IPv6Address, UNIXAddress

from ctfd_twisted.ops.node import shown_address


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        (IPv4Address("TCP", "127.0.0.1", 8000), "http://127.0.0.1:8000"),
        (IPv6Address("TCP", "::1", 8000), "http://[::1]:8000"),
        (UNIXAddress("/run/ctf.sock"), "/run/ctf.sock"),
    ],
)
def test_an_address_is_shown_as_a_person_reads_it(address: Any, shown: str) -> None:
    assert shown_address(address) == shown
