"""What a request says about a table's columns: which rows it asks for, and what it writes into one."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
from msgspec import UNSET
from sqlalchemy import ColumnElement, Integer, Select, String, Table, cast

S = TypeVar("S", bound=Select[Any])


def matching(statement: S, table: Table, wanted: msgspec.Struct) -> S:
    """*statement* for the rows of *table* that *wanted* describes, whose unset fields ask for nothing.

    Each field must be equal to the column of its name. ``field`` and ``q`` search where both say something: in a column
    of text for a piece of it (``%`` and ``_`` as ``LIKE`` has them), in one of numbers for that number.
    """
    asked = given(wanted)
    name, needle = asked.pop("field", None), asked.pop("q", None)
    for column, value in asked.items():
        statement = statement.where(table.c[column] == value)
    if name and needle:
        statement = statement.where(_found(table.c[name], needle))
    return statement


def given(struct: msgspec.Struct) -> dict[str, Any]:
    """The fields of *struct* that are set."""
    return {name: value for name in struct.__struct_fields__ if (value := getattr(struct, name)) is not UNSET}


def _found(column: ColumnElement[Any], needle: str) -> ColumnElement[bool]:
    # As text, so that what is no number, or one that no column holds, is simply in no row.
    return cast(column, String) == needle if isinstance(column.type, Integer) else column.like(f"%{needle}%")
