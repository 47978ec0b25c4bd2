"""Finished lists: their names, and what is compressed of them."""

from __future__ import annotations

import gzip

import pytest

from ctfd_twisted.challenges.finished import FinishedList, Piece, make_piece
from ctfd_twisted.http.zipped import Runs


def pieces(count: int, *solved: int) -> list[Piece]:
    return [make_piece(b'{"id":%d,"solved_by_me":%d}' % (n, n in solved), n) for n in range(1, count + 1)]


def test_a_list_is_named_by_what_stands_in_it_and_where() -> None:
    runs = Runs()
    lists = [pieces(0), pieces(1), pieces(30), pieces(30, 7), pieces(30, 8), pieces(30)[::-1], pieces(31)]
    tags = [FinishedList(shown, runs).etag for shown in lists]
    assert len(set(tags)) == len(lists)
    assert [FinishedList(shown, Runs()).etag for shown in lists] == tags


@pytest.mark.parametrize("count", [45, 47, 48, 49, 200])
def test_compressed_it_says_the_same(count: int) -> None:
    runs = Runs()
    for solved in ((), (1,), (8, 9), range(200)):
        one = FinishedList(pieces(count, *solved), runs)
        assert one.zipped is not None
        assert gzip.decompress(one.zipped) == one.body
        assert one.zipped == FinishedList(pieces(count, *solved), runs).zipped
    backwards = FinishedList(pieces(count)[::-1], runs)
    assert gzip.decompress(backwards.zipped or b"") == backwards.body


def test_what_is_short_is_not_compressed() -> None:
    assert FinishedList([], Runs()).body == b'{"success":true,"data":[]}'
    assert [FinishedList(pieces(count), Runs()).zipped for count in (0, 1, 3)] == [None] * 3


def test_what_two_lists_have_in_common_is_compressed_once() -> None:
    runs = Runs()
    assert FinishedList(pieces(100), runs).zipped is not None
    before = len(runs)
    assert FinishedList(pieces(100, 50), runs).zipped is not None
    assert len(runs) == before + 1
