"""Scores in buckets."""

import pytest

from ctfd_twisted.scoring.buckets import bucketed


@pytest.mark.parametrize(
    ("scores", "size", "counts"),
    [
        ([], 100, {}),
        ([-50, 0, 1, 100], 100, {100: 4}),
        ([10, 150, 160, 250], 100, {100: 1, 200: 2, 300: 1}),
        # One step for each account, however far it leads.
        ([1000, 1000], 100, {200: 1, 300: 1}),
        ([0, 5], 0, {0: 2}),
    ],
)
def test_as_ctfd_counts(scores: list[int], size: int, counts: dict[int, int]) -> None:
    assert bucketed(scores, size) == counts
