"""Finished answers, and for how long they are kept."""

from datetime import UTC, datetime, timedelta

from ctfd_twisted.challenges.memo import Memo

NOW = datetime(2026, 3, 14, tzinfo=UTC)
KILOBYTE = bytes(1024)


def kept(memo: Memo[bytes], *keys: int) -> list[int]:
    """Which of *keys* have an answer."""
    return [key for key in keys if memo.get(key, (), NOW) is not None]


def test_an_answer_is_good_for_what_it_was_made_of() -> None:
    memo: Memo[bytes] = Memo(len)
    assert memo.put("key", ({1}, "a"), None, b"answer") == b"answer"
    assert memo.get("key", ({1}, "a"), NOW) == b"answer"
    assert memo.get("other", ({1}, "a"), NOW) is None
    assert memo.get("key", ({1}, "b"), NOW) is None
    assert memo.get("key", ({1}, "a"), NOW) is None


def test_an_answer_is_good_until_its_instant() -> None:
    memo: Memo[bytes] = Memo(len)
    memo.put("key", (), NOW, b"answer")
    assert memo.get("key", (), NOW - timedelta(microseconds=1)) == b"answer"
    assert memo.get("key", (), NOW) is None


def test_answers_are_kept_that_fit_together_the_one_asked_for_longest_ago_goes_first() -> None:
    memo: Memo[bytes] = Memo(len, room=3 * 2048)
    for key in (1, 2, 3):
        memo.put(key, (), None, KILOBYTE)
    assert kept(memo, 3, 2, 1) == [3, 2, 1]
    memo.put(4, (), None, KILOBYTE)
    assert kept(memo, 1, 2, 3, 4) == [1, 2, 4]
    memo.put(5, (), None, KILOBYTE * 4)
    assert kept(memo, 1, 2, 4, 5) == [5]
    memo.put(6, (), None, KILOBYTE * 6)
    assert kept(memo, 5, 6) == []


def test_room_is_given_back() -> None:
    memo: Memo[bytes] = Memo(len, room=2048)
    for _ in range(3):
        memo.put(1, ("old",), None, KILOBYTE)
        memo.put(1, ("new",), None, KILOBYTE)
    assert memo.get(1, ("new",), NOW) == KILOBYTE
    assert memo.get(1, ("gone",), NOW) is None
    memo.put(2, (), None, KILOBYTE)
    assert kept(memo, 2) == [2]
