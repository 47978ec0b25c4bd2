"""``among(column, "ids")``: whether a column is one of a list that is a single parameter.

``IN`` has a parameter for each item, so its SQL is another for each length, and a statement with it can't be made ready
(``db/ready.py``).
"""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from sqlalchemy import ColumnElement, Dialect, Integer, String, Text, TypeDecorator, bindparam
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.types import TypeEngine


class _Numbers(TypeDecorator[Any]):
    """Whole numbers in one parameter: an array on PostgreSQL, JSON's text on SQLite."""

    impl = Text
    cache_ok = True
    item: type[TypeEngine[Any]] = Integer

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """The database's own."""
        return dialect.type_descriptor(ARRAY(self.item) if dialect.name == "postgresql" else Text())

    def process_bind_param(self, value: Collection[Any] | None, dialect: Dialect) -> list[Any] | str:
        """As that takes it."""
        items = list(value or ())
        return items if dialect.name == "postgresql" else json.dumps(items)


class _Texts(_Numbers):
    """Texts likewise."""

    cache_ok = True
    item = Text


class among(ColumnElement[bool]):  # noqa: N801 - it is used as a function, like those of SQLAlchemy
    """True where *column* is one of the numbers or texts that the parameter *name* brings; never, if it brings none."""

    inherit_cache = True

    def __init__(self, column: ColumnElement[Any], name: str) -> None:
        self.column = column
        self.items = bindparam(name, type_=_Texts() if isinstance(column.type, String) else _Numbers())


@compiles(among)
def _in_json(element: among, compiler: Any, **how: Any) -> str:
    column, items = (compiler.process(part, **how) for part in (element.column, element.items))
    return f"{column} IN (SELECT value FROM json_each({items}))"  # noqa: S608 - of compiled parts


@compiles(among, "postgresql")
def _in_array(element: among, compiler: Any, **how: Any) -> str:
    column, items = (compiler.process(part, **how) for part in (element.column, element.items))
    return f"{column} = ANY({items})"
