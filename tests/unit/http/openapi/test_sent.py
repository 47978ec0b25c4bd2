from typing import Annotated, Any, Literal

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, Meta, Struct, UnsetType

from ctfd_twisted.errors import Invalid
from ctfd_twisted.http.bodies import QUERY_FALSE, QUERY_TRUE, read_query, read_struct
from ctfd_twisted.http.openapi.sent import LENIENT, body_schema, query_parameters


class Sent(Struct):
    """What is sent."""

    name: Annotated[str, Meta(max_length=3)]
    count: int | UnsetType = UNSET
    share: Annotated[int, Meta(ge=1, le=9)] | None = None
    shown: bool | UnsetType | None = UNSET
    parts: list[int] | UnsetType = UNSET
    kind: Literal["a", "b"] = "a"
    rest: Any = None


class Wanted(Struct):
    number: int | UnsetType = UNSET
    shown: bool | None = None
    kind: Literal["a", "b"] | UnsetType = UNSET
    text: str | None = None


SCHEMA = {**body_schema((Sent,)), "components": {"schemas": LENIENT}}
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**33), 2**33),
    st.floats(-(2.0**33), 2.0**33),
    st.sampled_from(["", "a", "b", "abcd", "t", "True", "FALSE", "yes", "5", " -7 ", "+8", "3.5", "five", "1"]),
    st.lists(st.one_of(st.integers(0, 9), st.text("ab")), max_size=2),
    st.dictionaries(st.text("ab"), st.integers(), max_size=1),
)
BODIES = st.dictionaries(st.sampled_from([*Sent.__struct_fields__, "other"]), VALUES)


def reads(raw: dict[str, Any]) -> bool:
    try:
        read_struct(raw, Sent)
    except Invalid:
        return False
    return True


@pytest.mark.parametrize("text", ["0", "-0", "00", " -7 ", "+08", "1", " 9 "])
def test_digits_in_a_string_are_bounded_from_below_too(text: str) -> None:
    raw = {"name": "a", "share": text}
    assert jsonschema_rs.is_valid(SCHEMA, raw) == reads(raw)


@pytest.mark.parametrize("value", [0, 1, 0.0, 1.0, -0.0, 2, 0.5, "0", "0.0"])
def test_numbers_that_stand_for_a_boolean_are_read(value: object) -> None:
    raw = {"name": "a", "shown": value}
    assert jsonschema_rs.is_valid(SCHEMA, raw) == reads(raw) == (value in {0, 1, "0"})


@given(BODIES)
def test_the_schema_admits_what_is_read_and_nothing_else(raw: dict[str, Any]) -> None:
    assert jsonschema_rs.is_valid(SCHEMA, raw) == reads(raw), raw


@given(st.sampled_from(list(Sent.__struct_fields__)), VALUES)
def test_the_schema_tells_for_each_field_what_is_read(name: str, value: object) -> None:
    raw = {"name": "a", name: value}
    assert jsonschema_rs.is_valid(SCHEMA, raw) == reads(raw), raw


@given(
    st.dictionaries(
        st.sampled_from(Wanted.__struct_fields__),
        st.one_of(st.sampled_from([*QUERY_TRUE, *QUERY_FALSE, "Yes", "OFF", "a", "c", ""]), st.text("ab5", max_size=2)),
    )
)
def test_a_query_that_its_parameters_admit_is_read_and_no_other(arguments: dict[str, str]) -> None:
    schemas = {one["name"]: one["schema"] for one in query_parameters((Wanted,))}
    admitted = all(
        jsonschema_rs.is_valid(
            schemas[name], int(text) if schemas[name]["type"] == "integer" and text.isdigit() else text
        )
        for name, text in arguments.items()
    )
    try:
        read_query(arguments, Wanted)
        read = True
    except Invalid:
        read = False
    assert admitted == read, arguments


def test_what_is_required_is_said_and_what_it_is_for() -> None:
    assert SCHEMA["required"] == ["name"]
    assert SCHEMA["description"] == "What is sent."


class Noted(Struct):
    page: Annotated[str, Meta(description="Counted from 1.")] | None = None


def test_notes_come_along() -> None:
    (parameter,) = query_parameters((Noted,))
    assert parameter == {
        "name": "page",
        "in": "query",
        "description": "Counted from 1.",
        "schema": {"type": "string"},
    }
    assert body_schema((Noted,))["properties"]["page"]["description"] == "Counted from 1."


def test_fields_of_several_structs_stand_in_one_object() -> None:
    assert list(body_schema((Noted, Wanted))["properties"]) == ["page", "number", "shown", "kind", "text"]


@pytest.mark.parametrize("value", [True, "", None])
def test_what_stands_for_an_integer_is_told_once(value: object) -> None:
    assert not jsonschema_rs.is_valid(LENIENT["SentInteger"], value)
