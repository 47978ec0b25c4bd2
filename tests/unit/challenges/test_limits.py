"""How often an account may be wrong."""

from datetime import UTC, datetime, timedelta

import pytest

from ctfd_twisted.challenges.limits import Limits, Refusal, Wrong, refusal, with_tries

NOW = datetime(2026, 3, 14, tzinfo=UTC)
NONE = Wrong()
LOCKOUT = Limits()
TIMEOUT = Limits(behavior="timeout", timeout=300)


def ago(count: int, seconds: float) -> Wrong:
    return Wrong(count, NOW - timedelta(seconds=seconds))


def refused_by(limits: Limits, now: datetime, max_attempts: int, here: Wrong, everywhere: Wrong) -> Refusal:
    refused = refusal(limits, now, max_attempts, here, everywhere)
    assert refused is not None
    return refused


def test_nothing_is_refused_at_first() -> None:
    assert refusal(LOCKOUT, NOW, 0, NONE, NONE) is None
    assert refusal(LOCKOUT, NOW, 1, NONE, NONE) is None


def test_the_last_try_locks_out_and_leaves_no_row() -> None:
    refused = refused_by(LOCKOUT, NOW, 2, ago(2, 500), NONE)
    assert (refused.http_status, refused.message, refused.stored) == (
        403, "Not accepted. You have 0 tries remaining", False,
    )  # fmt: skip


def test_without_a_maximum_no_number_of_wrong_answers_locks_out() -> None:
    assert refusal(LOCKOUT, NOW, 0, ago(1000, 500), NONE) is None


def test_a_timeout_says_when_the_oldest_answer_is_forgotten() -> None:
    refused = refused_by(TIMEOUT, NOW, 2, ago(2, 12.7), NONE)
    assert (refused.http_status, refused.message, refused.stored) == (
        429, "Not accepted. Try again in 288 seconds", True,
    )  # fmt: skip


def test_ten_wrong_answers_in_a_minute_are_the_most() -> None:
    assert refusal(LOCKOUT, NOW, 0, NONE, ago(9, 5)) is None
    refused = refused_by(LOCKOUT, NOW, 0, NONE, ago(10, 5.9))
    assert refused.http_status == 429
    assert refused.message == "You're submitting flags too fast. Try again in 55 seconds."
    assert refused.stored


def test_a_limit_of_zero_refuses_everything_for_a_minute() -> None:
    assert refused_by(Limits(per_minute=0), NOW, 0, NONE, NONE).message.endswith("Try again in 60 seconds.")


def test_the_tries_are_looked_at_before_the_rate() -> None:
    assert refused_by(LOCKOUT, NOW, 1, ago(1, 5), ago(10, 5)).http_status == 403


@pytest.mark.parametrize(
    ("limits", "most", "here", "text"),
    [
        (LOCKOUT, 0, NONE, "Incorrect"),
        (LOCKOUT, 3, NONE, "Incorrect. You have 2 tries remaining."),
        (LOCKOUT, 3, ago(1, 9), "Incorrect. You have 1 try remaining."),
        (LOCKOUT, 3, ago(2, 9), "Incorrect. You have 0 tries remaining."),
        (TIMEOUT, 1, NONE, "Incorrect. You have 0 tries remaining. Try again in 300 seconds"),
        (TIMEOUT, 2, ago(1, 0.5), "Incorrect. You have 0 tries remaining. Try again in 300 seconds"),
        (TIMEOUT, 2, ago(1, 1), "Incorrect. You have 0 tries remaining. Try again in 299 seconds"),
    ],
)
def test_a_wrong_answer_tells_how_many_tries_remain(limits: Limits, most: int, here: Wrong, text: str) -> None:
    assert with_tries("Incorrect", limits, NOW, most, here) == text


@pytest.mark.parametrize("end", "!().;?[]{}")
def test_no_full_stop_after_punctuation(end: str) -> None:
    assert with_tries(f"No{end}", LOCKOUT, NOW, 2, NONE) == f"No{end} You have 1 try remaining."


def test_only_a_timeout_forgets() -> None:
    assert LOCKOUT.counted_since(NOW) is None
    assert TIMEOUT.counted_since(NOW) == NOW - timedelta(seconds=300)
