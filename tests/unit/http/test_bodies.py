"""Lenient bodies and strict messages."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

import pytest
from msgspec import UNSET, Meta, Struct, UnsetType

from ctfd_twisted.errors import Invalid, Malformed
from ctfd_twisted.http.bodies import json_object, read_query, read_struct


class Thing(Struct):
    name: Annotated[str, Meta(max_length=5)]
    count: int | UnsetType | None = UNSET
    active: bool | UnsetType = UNSET
    extra: Any = None
    when: datetime | UnsetType = UNSET
    tags: list[str] | UnsetType = UNSET


class Filter(Struct):
    value: int | UnsetType = UNSET
    on: bool | UnsetType = UNSET
    field: Literal["name", "type"] | UnsetType = UNSET
    q: str | UnsetType = UNSET


def errors_of(raw: dict[str, object]) -> dict[str, list[str] | str]:
    with pytest.raises(Invalid) as caught:
        read_struct(raw, Thing)
    return caught.value.errors


def test_integers_beyond_the_databases_are_none() -> None:
    class Body(Struct):
        number: int | None = None

    assert read_struct({"number": 2**31 - 1}, Body).number == read_query({"number": "2147483647"}, Body).number
    for wrong in (2**31, -(2**31) - 1, "9" * 5000, 1e300):
        with pytest.raises(Invalid) as raised:
            read_struct({"number": wrong}, Body)
        assert raised.value.errors == {"number": ["Not a valid integer."]}
        with pytest.raises(Invalid) as raised:
            read_query({"number": str(wrong)}, Body)
        assert raised.value.errors == {"number": "value is not a valid integer"}


def test_text_with_a_nul_is_refused_wherever_it_stands() -> None:
    deep = b'{"a": ' + b"[" * 900 + rb'"\u0000"' + b"]" * 900 + b"}"
    for raw in (rb'{"a": "\u0000"}', rb'{"a": [{"b": "x\u0000"}]}', rb'{"\u0000": 1}', deep):
        with pytest.raises(Invalid):
            json_object(raw)
    assert json_object(rb'{"a": "\\u0000"}') == {"a": "\\u0000"}


def test_every_wrong_field_is_named_at_once() -> None:
    assert errors_of({"count": "x", "active": "maybe", "tags": 3}) == {
        "name": ["Missing data for required field."],
        "count": ["Not a valid integer."],
        "active": ["Not a valid boolean."],
        "tags": ["Not a valid list."],
    }


@pytest.mark.parametrize(("sent", "read"), [("5", 5), (5.9, 5), (" 7 ", 7), (None, None), (-2, -2)])
def test_integers_are_read_as_leniently_as_ctfd_reads_them(sent: object, read: object) -> None:
    assert read_struct({"name": "a", "count": sent}, Thing).count == read


@pytest.mark.parametrize("sent", [True, "1.5", "", [], {}, float("nan")])
def test_what_is_no_integer_is_refused(sent: object) -> None:
    assert errors_of({"name": "a", "count": sent}) == {"count": ["Not a valid integer."]}


@pytest.mark.parametrize(("sent", "read"), [(True, True), ("true", True), ("F", False), (1, True), (0, False)])
def test_booleans_are_read_as_leniently_as_ctfd_reads_them(sent: object, read: bool) -> None:  # noqa: FBT001
    assert read_struct({"name": "a", "active": sent}, Thing).active is read


def test_null_where_it_does_not_belong_is_named() -> None:
    assert errors_of({"name": None}) == {"name": ["Field may not be null."]}


def test_a_text_over_its_length_says_the_length() -> None:
    assert errors_of({"name": "sixsix"}) == {"name": ["Longer than maximum length 5."]}


def test_missing_is_unset_unknown_is_ignored_and_any_value_is_kept() -> None:
    thing = read_struct({"name": "a", "unknown": 1, "extra": {"k": [1]}}, Thing)
    assert thing.count is UNSET
    assert thing.extra == {"k": [1]}


@pytest.mark.parametrize("raw", [b"", b"{", b"\xff", b"[1]", b'"x"', b"null", b"3", b"[" * 100_000])
def test_a_body_of_another_structure_is_malformed(raw: bytes) -> None:
    with pytest.raises(Malformed) as caught:
        json_object(raw)
    assert caught.value.reason


def test_query_parameters_are_typed_and_their_messages_are_strings() -> None:
    assert read_query({"value": "3", "on": "YES", "field": "type", "q": "x", "other": "1"}, Filter) == Filter(
        3, on=True, field="type", q="x"
    )
    with pytest.raises(Invalid) as caught:
        read_query({"value": "x", "on": "2", "field": "id"}, Filter)
    assert caught.value.errors == {
        "value": "value is not a valid integer",
        "on": "value could not be parsed to a boolean",
        "field": "value is not a valid enumeration member; permitted: 'name', 'type'",
    }
