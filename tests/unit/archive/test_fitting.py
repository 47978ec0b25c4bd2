"""Claims about rows of older archives, and of other databases, in the columns of today."""

from datetime import UTC, datetime
from typing import Any

import pytest

from ctfd_twisted.archive.fitting import DEFAULTS, Column, Kind, fitted, upgraded
from ctfd_twisted.archive.loading import lacking
from ctfd_twisted.archive.reading import CannotImport
from ctfd_twisted.db.adopt import CTFD_1, CTFD_HEAD, CTFD_REVISIONS
from ctfd_twisted.schema import metadata


def fit(kind: Kind, value: object, length: int | None = None) -> tuple[Any, str]:
    column = Column("table", "name", kind, length, nullable=True)
    found = fitted({"name": column}, {"name": value})
    return found.values["name"], "".join(what for _, what in found.changes)


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("boolean", 1, True),
        ("boolean", 0, False),
        ("boolean", "True", True),
        ("boolean", False, False),
        ("integer", "5", 5),
        ("integer", -3, -3),
        ("number", "1.5", 1.5),
        ("text", 2024, "2024"),
        ("text", "a\0b", "ab"),
        ("instant", "2026-11-20T12:32:35.509601", datetime(2026, 11, 20, 12, 32, 35, 509601, UTC)),
        ("instant", "2030-01-01T00:00:00", datetime(2030, 1, 1, tzinfo=UTC)),
        ("instant", "2030-01-01T02:00:00+02:00", datetime(2030, 1, 1, tzinfo=UTC)),
        ("object", '{"prerequisites": [1]}', {"prerequisites": [1]}),
        ("object", "null", None),
        ("json", [1, {"a": None}], [1, {"a": None}]),
        ("bytes", "AP8=", b"\x00\xff"),
    ],
)
def test_values_are_read_from_any_form(kind: Kind, value: object, expected: object) -> None:
    assert fit(kind, value) == (expected, "")


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        *(
            ("boolean", "maybe"),
            ("boolean", []),
            ("integer", "five"),
            ("integer", 2**31),
            ("integer", {}),
            ("number", []),
        ),
        *(
            ("text", {}),
            ("instant", "soon"),
            ("instant", 5),
            ("object", "[1]"),
            ("object", "{"),
            ("bytes", "!"),
            ("bytes", 1),
        ),
    ],
)
def test_what_does_not_fit_is_told(kind: Kind, value: object) -> None:
    assert fit(kind, value) == (None, f"held what is no {kind}")


def test_long_text_is_cut() -> None:
    assert fit("text", "x" * 81, 80) == ("x" * 80, "was cut to 80 characters")


def test_unknown_columns_are_told_and_left_out() -> None:
    found = fitted({}, {"bracket": "students"})
    assert (found.values, found.changes) == ({}, (("bracket", "is no column here"),))


def test_a_column_that_needs_a_value_gets_its_default_or_none_at_all() -> None:
    state = Column("challenges", "state", "text", 80, nullable=False)
    assert fitted({"state": state}, {"state": ""}).values == {"state": "visible"}
    with pytest.raises(ValueError, match="a row of challenges has no id"):
        fitted({"id": Column("challenges", "id", "integer", None, nullable=False)}, {})


def test_a_null_that_was_written_stays_where_nothing_else_is_meant() -> None:
    hidden = Column("users", "hidden", "boolean", None, nullable=True)
    assert fitted({"hidden": hidden}, {"hidden": None}).values == {"hidden": None}
    assert fitted({"hidden": hidden}, {}).values == {"hidden": False}


def test_defaults_are_for_columns_that_there_are() -> None:
    assert all(column in metadata.tables[table].c for table, column in DEFAULTS)


ALL = lacking(CTFD_REVISIONS[0])


@pytest.mark.parametrize(
    ("table", "old", "new"),
    [
        (
            "dynamic_challenge",
            {"id": 1, "initial": 500, "minimum": 100, "decay": 5},
            {"id": 1, "dynamic_initial": 500, "dynamic_minimum": 100, "dynamic_decay": 5, "dynamic_function": None},
        ),
        ("ratings", {"value": 2}, {"value": -1}),
        ("ratings", {"value": 3}, {"value": 1}),
        ("ratings", {"value": None}, {"value": None}),
        ("config", {"key": "ctf_theme", "value": "core-beta"}, {"key": "ctf_theme", "value": "core"}),
        ("config", {"key": "ctf_name", "value": "learning"}, {"key": "ctf_name", "value": "learning"}),
        (
            "pages",
            {"content": "/themes/core-beta/x /themes/learning/y"},
            {"content": "/themes/core/x /themes/learning-theme/y"},
        ),
        ("field_entries", {"value": '"\\"School\\""'}, {"value": "School"}),
        ("field_entries", {"value": "true"}, {"value": True}),
        ("field_entries", {"value": "2024"}, {"value": "2024"}),
        ("field_entries", {"value": False}, {"value": False}),
    ],
)
def test_rows_of_old_archives_become_those_of_today(table: str, old: dict[str, Any], new: dict[str, Any]) -> None:
    assert upgraded(table, old, ALL) == new


def test_rows_of_today_stay_as_they_are() -> None:
    row = {"value": '"quoted"', "key": "ctf_theme", "content": "/themes/core-beta/"}
    for table in ("field_entries", "ratings", "config", "pages"):
        assert upgraded(table, row, lacking(CTFD_HEAD)) == row


def test_every_revision_of_ctfd_2_and_3_is_known() -> None:
    assert [len(lacking(revision)) for revision in CTFD_REVISIONS] == list(reversed(range(33)))
    for revision in CTFD_1:
        with pytest.raises(CannotImport, match="too old to be automatically imported"):
            lacking(revision)
    with pytest.raises(CannotImport, match="is not available in this version"):
        lacking("123456789abc")
