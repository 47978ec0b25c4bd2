"""Schemas of what is answered: closed, and with every key that is always there required."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec
from msgspec import inspect

from ctfd_twisted.shapes import has_more

#: Where a document keeps what it names.
REF: Final = "#/components/schemas/{name}"


def answer_schemas(types: Sequence[Any]) -> tuple[list[dict[str, Any]], dict[str, dict[str, Any]]]:
    """A schema for each of *types*, and the named schemas that they refer to.

    An object has no key that its type does not name, unless the type is marked with ``with_more``, or is a ``dict``. A
    struct's field that is always encoded is required, also where it has a default.
    """
    wanted, named = msgspec.json.schema_components(types, ref_template=REF)
    for one in inspect.multi_type_info(types):
        for kind in _objects(one, set()):
            _tighten(named[kind.cls.__name__], kind)
    return list(wanted), named


def _tighten(schema: dict[str, Any], kind: inspect.TypedDictType | inspect.StructType) -> None:
    schema["additionalProperties"] = has_more(kind.cls)
    for one in schema.get("properties", {}).values():
        one.pop("default", None)  # which is for whoever sends
    if isinstance(kind, inspect.StructType) and not kind.cls.__struct_config__.omit_defaults:
        schema["required"] = [field.encode_name for field in kind.fields if _is_always_there(field)]


def _is_always_there(field: inspect.Field) -> bool:
    """Whether *field* has a value; the only default that is none is UNSET."""
    return field.required or (field.default, field.default_factory) != (msgspec.NODEFAULT, msgspec.NODEFAULT)


def _objects(kind: inspect.Type, seen: set[type]) -> Iterator[inspect.TypedDictType | inspect.StructType]:
    """Every struct and ``TypedDict`` within *kind*, once."""
    if isinstance(kind, inspect.TypedDictType | inspect.StructType):
        if kind.cls in seen:
            return
        seen.add(kind.cls)
        yield kind
    for part in _parts(kind):
        yield from _objects(part, seen)


def _parts(kind: inspect.Type) -> Iterator[inspect.Type]:
    match kind:
        case inspect.TypedDictType() | inspect.StructType():
            yield from (field.type for field in kind.fields)
        case inspect.UnionType():
            yield from kind.types
        case inspect.DictType():
            yield kind.value_type
        case inspect.TupleType():
            yield from kind.item_types
        case inspect.Metadata():
            yield kind.type
        case inspect.ListType() | inspect.VarTupleType() | inspect.SetType() | inspect.FrozenSetType():
            yield kind.item_type
