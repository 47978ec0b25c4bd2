"""The schedule of attempts, the circuit and the end of patience."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctfd_twisted.webhooks.rules import asked_to_wait, lanes, reason_to_disable, succeeded, wait_after

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
MINUTE, HOUR, DAY = 60, 3600, 86_400


def test_a_failed_delivery_is_tried_ten_more_times_and_is_then_dead() -> None:
    waits = [wait_after(attempts, 0.5) for attempts in range(1, 12)]
    assert waits == [
        pytest.approx(seconds)
        for seconds in (5, 30, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY)
    ] + [None]


@given(st.integers(1, 10), st.floats(0, 1), st.one_of(st.none(), st.integers(0, DAY)))
def test_a_wait_is_spread_by_a_fifth_and_only_lengthened_by_the_receiver(
    attempts: int, chance: float, retry_after: int | None
) -> None:
    planned = wait_after(attempts, 0.5)
    wait = wait_after(attempts, chance)
    asked = wait_after(attempts, chance, retry_after)
    assert planned is not None
    assert wait is not None
    assert 0.79 * planned < wait < 1.21 * planned
    assert asked == max(wait, retry_after or 0)


@pytest.mark.parametrize(("status", "arrived"), [(200, True), (204, True), (299, True), (199, False), (302, False)])
def test_only_2xx_is_success(status: int, arrived: bool) -> None:  # noqa: FBT001 - a parameter of the test
    assert succeeded(status) is arrived


def test_no_answer_is_no_success() -> None:
    assert not succeeded(None)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("120", 120),
        (" 0 ", 0),
        ("172800", DAY),
        ("9" * 5000, DAY),
        (format_datetime(NOW + timedelta(hours=1), usegmt=True), HOUR),
        (format_datetime(NOW + timedelta(days=9), usegmt=True), DAY),
        (format_datetime(NOW - timedelta(hours=1), usegmt=True), None),
        ("Fri, 20 Nov 2026 12:00:30 -0000", 30),
        ("-5", None),
        ("soon", None),
        ("", None),
        ("٣", None),
    ],
)
def test_retry_after_is_seconds_or_a_date_and_at_most_a_day(header: str, seconds: int | None) -> None:
    assert asked_to_wait(429, header, NOW) == asked_to_wait(503, header, NOW) == seconds


@given(st.text())
def test_any_retry_after_can_be_read(header: str) -> None:
    asked = asked_to_wait(503, header, NOW)
    assert asked is None or 0 <= asked <= DAY


@pytest.mark.parametrize("status", [None, 200, 302, 404, 500])
def test_retry_after_means_nothing_with_other_answers(status: int | None) -> None:
    assert asked_to_wait(status, "120", NOW) is None


def test_five_failures_in_a_row_leave_one_probe_at_a_time() -> None:
    assert [lanes(failures) for failures in (0, 1, 4, 5, 6, 100)] == [4, 4, 4, 1, 1, 1]


def test_gone_disables_at_once_and_failing_for_five_days_does() -> None:
    assert reason_to_disable(410, NOW, NOW) is not None
    assert reason_to_disable(500, NOW - timedelta(days=4, hours=23), NOW) is None
    assert reason_to_disable(None, NOW - timedelta(days=5), NOW) is not None
