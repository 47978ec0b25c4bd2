"""Gzip that is put together of pieces."""

from __future__ import annotations

import gzip

from hypothesis import given
from hypothesis import strategies as st

from ctfd_twisted.http.zipped import Runs, deflated, stored, zipped


@given(st.lists(st.tuples(st.binary(max_size=300), st.booleans()), max_size=8))
def test_pieces_in_any_order_are_one_gzip_of_their_texts(pieces: list[tuple[bytes, bool]]) -> None:
    plain = b"".join(text for text, _ in pieces)
    whole = b"".join(zipped((stored(text) if as_it_is else deflated(text) for text, as_it_is in pieces), plain))
    assert gzip.decompress(whole) == plain


def test_a_piece_may_be_longer_than_a_block() -> None:
    text = bytes(range(256)) * 700
    assert gzip.decompress(b"".join(zipped((stored(text), deflated(text)), text * 2))) == text * 2


def test_what_is_not_to_be_compressed_is_not_however_long_it_is() -> None:
    text = b"secret" * 50_000
    assert len(stored(text)) > len(text)


def test_a_piece_refers_to_nothing_before_it() -> None:
    piece = deflated(b"the same again and again")
    assert deflated(b"the same again and again") == piece
    assert len(deflated(b"flag " * 100)) < 30


def test_what_is_kept_compressed_takes_no_more_room_than_it_may() -> None:
    runs = Runs(room=3000)
    for number in range(100):
        piece = runs.zipped((b"%d" % number, b"a"), b", ")
        assert gzip.decompress(b"".join(zipped((piece,), b"%d, a" % number))) == b"%d, a" % number
        assert len(runs) <= 13
