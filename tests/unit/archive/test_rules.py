"""Claims about names and values in archives and CSV files."""

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctfd_twisted.archive.rules import TAIL, cell, encoded_rows, harmless, head, upload_member

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


@given(st.lists(st.dictionaries(st.text(), st.none() | st.booleans() | st.integers() | st.text()), min_size=1))
def test_rows_are_json_in_ascii(rows: list[dict[str, Any]]) -> None:
    written = head(len(rows)) + encoded_rows(rows) + TAIL
    assert written.isascii()
    assert json.loads(written) == {"count": len(rows), "results": rows, "meta": {}}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (NOON, "2030-01-01T12:00:00"),
        (NOON.replace(microsecond=509601), "2030-01-01T12:00:00.509601"),
        (NOON.astimezone(timezone(timedelta(hours=2))), "2030-01-01T12:00:00"),
        (b"\x00\xff", "AP8="),
        ({"prerequisites": [1]}, {"prerequisites": [1]}),
    ],
)
def test_values_have_the_form_that_ctfd_reads(value: object, text: object) -> None:
    assert json.loads(encoded_rows([{"value": value}])) == {"value": text}


def test_what_has_no_form_is_a_mistake() -> None:
    with pytest.raises(TypeError):
        encoded_rows([{"value": object()}])


@pytest.mark.parametrize("text", ["=1+1", "+49 30", "-1", "@SUM(A1)", "\tx", "\rx", "\nx", "\uff1d1", "\uff201"])
def test_no_player_begins_a_formula(text: str) -> None:
    assert harmless(text) == f"'{text}"


@given(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.from_regex(r"\A\w.*\Z"))
def test_other_cells_stay_as_they_are(value: object) -> None:
    assert harmless(value) == cell(value) == value


def test_instants_in_cells_have_microseconds() -> None:
    assert cell(NOON) == harmless(NOON) == "2030-01-01 12:00:00.000000"


@pytest.mark.parametrize("location", ["a/b.txt", "a/b c.txt", "a/ü.txt", "a/b/c.txt", "b.txt"])
def test_uploads_keep_their_location(location: str) -> None:
    assert upload_member(location, 7) == f"uploads/{location}"


@pytest.mark.parametrize("location", ["a/b..txt", "a/..b", "a//b", "a/b\\\\c"])
def test_uploads_whose_name_ctfd_refuses_have_a_number(location: str) -> None:
    assert upload_member(location, 7) == "ctfd-twisted/uploads/7"
