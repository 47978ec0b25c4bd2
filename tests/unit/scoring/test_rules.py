"""Decay, ordinals and the order of the board."""

from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctfd_twisted.scoring.rules import LONG_AGO, Points, added_up, linear, logarithmic, ordinal, ranked

Function = Callable[[int, int, int, int], int]

INT32 = st.integers(-(2**31), 2**31 - 1)
SOLVES = st.integers(0, 100_000)


@pytest.mark.parametrize(("solves", "points"), [(0, 500), (1, 500), (2, 496), (6, 400), (11, 100), (12, 100)])
def test_the_parabola_of_the_contract(solves: int, points: int) -> None:
    assert logarithmic(500, 100, 10, solves) == points


@pytest.mark.parametrize(("solves", "points"), [(0, 500), (1, 500), (2, 490), (6, 450), (41, 100), (400, 100)])
def test_the_line_of_the_contract(solves: int, points: int) -> None:
    assert linear(500, 100, 10, solves) == points


def test_a_decay_of_zero_counts_as_one() -> None:
    assert logarithmic(500, 100, 0, 2) == logarithmic(500, 100, 1, 2) == 100


def test_fractions_are_rounded_up() -> None:
    assert logarithmic(500, 100, 11, 2) == 497  # 496.69...


@given(st.tuples(INT32, INT32).map(sorted), st.integers(0, 10_000), SOLVES, st.sampled_from([linear, logarithmic]))
def test_a_value_stays_within_its_limits_and_never_rises(
    limits: list[int], decay: int, solves: int, function: Function
) -> None:
    minimum, initial = limits
    value = function(initial, minimum, decay, solves)
    assert minimum <= function(initial, minimum, decay, solves + 1) <= value <= initial


@given(INT32, INT32, INT32, SOLVES, st.sampled_from([linear, logarithmic]))
def test_any_settings_give_a_value_that_the_column_holds(
    initial: int, minimum: int, decay: int, solves: int, function: Function
) -> None:
    assert -(2**31) <= function(initial, minimum, decay, solves) < 2**31


@given(INT32, INT32, INT32, st.sampled_from([linear, logarithmic]))
def test_the_first_solver_earns_what_nobody_has_earned_yet(
    initial: int, minimum: int, decay: int, function: Function
) -> None:
    assert function(initial, minimum, decay, 1) == function(initial, minimum, decay, 0)


@pytest.mark.parametrize(
    ("place", "text"),
    [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (12, "12th"), (13, "13th"), (21, "21st"),
     (101, "101st"), (111, "111th"), (112, "112th"), (122, "122nd")],
)  # fmt: skip
def test_ordinals(place: int, text: str) -> None:
    assert ordinal(place) == text


POINTS = st.lists(
    st.builds(
        Points,
        st.integers(1, 5),
        st.integers(-50, 50),
        st.integers(0, 5).map(lambda seconds: LONG_AGO + timedelta(seconds=seconds)),
        st.integers(1, 5),
    )
)


@given(POINTS, st.randoms(use_true_random=False))
def test_standings_ignore_the_order_of_rows(parts: list[Points], random: Random) -> None:
    shuffled = random.sample(parts, len(parts))
    assert ranked(added_up(shuffled)) == ranked(added_up(parts))


@given(POINTS)
def test_every_account_stands_once_with_all_its_points(parts: list[Points]) -> None:
    board = ranked(added_up(parts))
    assert {points.account_id for points in board} == {part.account_id for part in parts}
    assert len({points.account_id for points in board}) == len(board)
    assert sum(points.score for points in board) == sum(part.score for part in parts)


@given(POINTS)
def test_the_board_goes_down(parts: list[Points]) -> None:
    board = ranked(added_up(parts))
    for above, below in pairwise(board):
        assert (above.score, below.last, below.row_id) >= (below.score, above.last, above.row_id)


def test_among_equals_the_one_who_was_there_first_is_first() -> None:
    early, late = LONG_AGO, LONG_AGO + timedelta(seconds=1)
    assert [points.account_id for points in ranked([Points(1, 10, late, 1), Points(2, 10, early, 2)])] == [2, 1]


def test_at_the_same_instant_the_smaller_row_is_first() -> None:
    assert [points.account_id for points in ranked([Points(1, 10, LONG_AGO, 9), Points(2, 10, LONG_AGO, 3)])] == [2, 1]
