"""Rate limits."""

from __future__ import annotations

import pytest

from ctfd_twisted.errors import TooMany
from ctfd_twisted.http.limits import RateLimits


def test_the_request_after_the_limit_is_refused_until_the_window_ends() -> None:
    limits = RateLimits()
    for second in range(3):
        limits.count(("login", "a"), 3, 5, float(second))
    with pytest.raises(TooMany) as caught:
        limits.count(("login", "a"), 3, 5, 6.9)
    assert caught.value.retry_after == 1
    limits.count(("login", "a"), 3, 5, 7.0)


def test_a_refused_request_does_not_prolong_the_window() -> None:
    limits = RateLimits()
    limits.count(("login", "a"), 1, 5, 0.0)
    with pytest.raises(TooMany):
        limits.count(("login", "a"), 1, 5, 4.9)
    limits.count(("login", "a"), 1, 5, 5.0)


def test_addresses_and_endpoints_are_counted_apart() -> None:
    limits = RateLimits()
    limits.count(("login", "a"), 1, 5, 0.0)
    limits.count(("login", "b"), 1, 5, 0.0)
    limits.count(("register", "a"), 1, 5, 0.0)
    with pytest.raises(TooMany):
        limits.count(("login", "b"), 1, 5, 0.0)
