"""What is told of a change leads from the old board to the new one."""

from hypothesis import given
from hypothesis import strategies as st

from ctfd_twisted.live.frames import chunk, unchunked
from ctfd_twisted.live.ranks import changed
from ctfd_twisted.live.views import LOST, read_cursor
from ctfd_twisted.scoring.store import Standing


def board(scores: dict[int, int]) -> tuple[Standing, ...]:
    """The board of accounts with these scores; who has the smaller id stands first among equals."""
    order = sorted(scores, key=lambda number: (-scores[number], number))
    return tuple(
        Standing(place, number, f"n{number}", scores[number], None, None, None, hidden=False, banned=False)
        for place, number in enumerate(order, 1)
    )


SCORES = st.dictionaries(st.integers(1, 30), st.integers(0, 6), max_size=20)


@given(SCORES, SCORES)
def test_a_client_comes_to_the_new_board(old: dict[int, int], new: dict[int, int]) -> None:
    before, after = board(old), board(new)
    change = changed(before, after)
    assert change is not None
    left = {*change.gone, *(row.account_id for row in change.moved)}
    rows = [row.account_id for row in before if row.account_id not in left]
    for row in change.moved:
        rows.insert(row.place - 1, row.account_id)
    assert rows == [row.account_id for row in after]


def test_who_changes_order_without_points_is_told_by_the_whole_board() -> None:
    first, second = board({1: 5, 2: 5})
    assert changed((first, second), (second, first)) is None


def test_much_of_a_long_board_is_told_by_all_of_it() -> None:
    old = dict.fromkeys(range(100), 5)
    assert changed(board(old), board(dict.fromkeys(range(100), 6))) is None
    assert changed(board(old), board({**old, 7: 9})) is not None


@given(st.binary(min_size=1, max_size=5000))
def test_an_older_client_gets_what_is_in_the_chunk(data: bytes) -> None:
    assert unchunked(chunk(data)) == data


@given(st.text())
def test_what_is_no_id_of_ours_begins_anew(text: str) -> None:
    cursor = read_cursor(text)
    assert cursor is None if not text else cursor is not None and (cursor is LOST or len(cursor) == 4)
