"""The board as pages show it."""

from __future__ import annotations

import gzip

import pytest

from ctfd_twisted.http.zipped import zipped
from ctfd_twisted.web.drawn_board import DrawnBoard, SeenBoard


def board(count: int) -> str:
    rows = (
        f'<tr data-account="{number}"><th>player {number}</th> <!--{number}--></tr>' for number in range(1, count + 1)
    )
    return f"<table>{''.join(rows)}</table>"


def unzipped(seen: SeenBoard) -> str:
    return gzip.decompress(b"".join(zipped((seen.pieces,), seen.body))).decode()


@pytest.mark.parametrize("count", [0, 1, 31, 32, 33, 200])
def test_the_own_row_is_marked_and_no_other(count: int) -> None:
    html = board(count)
    drawn = DrawnBoard(html)
    for own in (None, 0, 1, 20, 32, 33, 199, 201):
        expected = html
        if own is not None and 0 < own <= count:
            expected = expected.replace(f'account="{own}"', f'account="{own}" data-own')
            expected = expected.replace(f"<!--{own}-->", '<span class="tag">you</span>')
        seen = drawn.seen_by(own, "you")
        assert seen.body.decode() == unzipped(seen) == expected


def test_rows_of_others_are_compressed_once() -> None:
    drawn = DrawnBoard(board(100))
    drawn.seen_by(1, "you").pieces  # noqa: B018 - compresses all but the first run
    assert drawn.compressed(1) is drawn.compressed(1)
    assert DrawnBoard("").seen_by(3, "you").body == b""
