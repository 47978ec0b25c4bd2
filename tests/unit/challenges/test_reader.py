"""What is kept of players in memory."""

import tracemalloc
from datetime import UTC, datetime, timedelta

import pytest

from ctfd_twisted.challenges.own import Own, Rating
from ctfd_twisted.challenges.reader import _weight

NOW = datetime(2026, 3, 14, tzinfo=UTC)


def a_player(solved: int, tried: int, instants: int) -> Own:
    times = {number: tuple(NOW + timedelta(seconds=second) for second in range(4)) for number in range(instants)}
    return Own(frozenset(range(solved)), dict.fromkeys(range(tried), 2), instants=times)


@pytest.mark.parametrize("facts", [(0, 0, 0), (5, 20, 0), (80, 100, 0), (200, 300, 0), (30, 0, 60)])
def test_what_is_a_players_own_weighs_what_it_is_said_to(facts: tuple[int, int, int]) -> None:
    tracemalloc.start()
    kept = [a_player(*facts) for _ in range(100)]
    really = tracemalloc.get_traced_memory()[0] / len(kept)
    tracemalloc.stop()
    assert 0.7 * really < _weight(kept[0]) < 2.5 * really


def test_reviews_weigh_what_they_are_said_to() -> None:
    tracemalloc.start()
    kept = [
        Own(ratings={(user, number): Rating(1, chr(200 + user) * 2000) for user in range(4) for number in range(20)})
        for _ in range(20)
    ]
    really = tracemalloc.get_traced_memory()[0] / len(kept)
    tracemalloc.stop()
    assert 0.7 * really < _weight(kept[0]) < 2.5 * really
