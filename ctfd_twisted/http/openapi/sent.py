"""Schemas of what is sent: as leniently as ``http.bodies`` reads it."""

from __future__ import annotations

import types
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

import msgspec
from msgspec import Meta, Struct, UnsetType
from msgspec.structs import FieldInfo

from ctfd_twisted.http.bodies import FALSE_FORMS, INTEGERS, QUERY_FALSE, QUERY_TRUE, TRUE_FORMS
from ctfd_twisted.http.openapi.answered import REF

#: What stands in a body for an integer and for a boolean, described once.
LENIENT: Final[dict[str, dict[str, Any]]] = {
    "SentInteger": {
        "title": "SentInteger",
        "description": "An integer; digits in a string are read as one, and what stands behind the point is dropped.",
        "type": ["number", "string"],
        "minimum": INTEGERS.start,
        "exclusiveMaximum": INTEGERS.stop,
        "pattern": r"^\s*[+-]?[0-9]+\s*$",
    },
    "SentBoolean": {
        "title": "SentBoolean",
        "description": "A boolean, also as a number or as text.",
        "enum": [True, False, 1, 0, *sorted(TRUE_FORMS), *sorted(FALSE_FORMS)],
    },
}
#: Digits in a string for an integer that is at least so much; the bounds of a schema are for numbers alone.
_AT_LEAST: Final = ((1, r"^\s*\+?0*[1-9][0-9]*\s*$"), (0, r"^\s*(\+?[0-9]+|-0+)\s*$"))


def body_schema(kinds: tuple[type[Struct], ...]) -> dict[str, Any]:
    """One object with the fields of all *kinds*; keys that none of them has are ignored."""
    fields = [field for kind in kinds for field in msgspec.structs.fields(kind)]
    schema: dict[str, Any] = {
        "title": kinds[0].__name__,
        "type": "object",
        "properties": {field.encode_name: _field_schema(field) for field in fields},
    }
    required = [field.encode_name for field in fields if field.required]
    description = " ".join((kinds[0].__doc__ or "").split())
    return {
        **schema,
        **({"required": required} if required else {}),
        **({"description": description} if description else {}),
    }


def body_types(kinds: tuple[type[Struct], ...]) -> list[Any]:
    """The types within the fields of *kinds* that are read as they stand."""
    return [
        part
        for kind in kinds
        for field in msgspec.structs.fields(kind)
        for part in _alternatives(field.type)
        if _plain(part) not in {int, bool}
    ]


def query_parameters(kinds: tuple[type[Struct], ...]) -> list[dict[str, Any]]:
    """The parameters that ``Call.query`` reads into *kinds*; each may be left out, and others are ignored."""
    return [
        {"name": field.encode_name, "in": "query", **_described(field.type), "schema": _query_schema(field.type)}
        for kind in kinds
        for field in msgspec.structs.fields(kind)
    ]


def _field_schema(field: FieldInfo) -> dict[str, Any]:
    parts = [_part_schema(part) for part in _alternatives(field.type)]
    schema = parts[0] if len(parts) == 1 else {"anyOf": parts}
    return {**_described(field.type), **schema}


def _part_schema(part: Any) -> dict[str, Any]:
    plain = _plain(part)
    if plain is bool:
        return {"$ref": REF.format(name="SentBoolean")}
    if plain is not int:
        (schema,), _ = msgspec.json.schema_components([part], ref_template=REF)
        return dict(schema)
    bounds = _bounds(part)
    if not bounds:
        return {"$ref": REF.format(name="SentInteger")}
    pattern = next((text for least, text in _AT_LEAST if bounds.get("minimum", least - 1) >= least), None)
    return {**LENIENT["SentInteger"], **bounds, **({"pattern": pattern} if pattern else {})}


def _bounds(part: Any) -> dict[str, Any]:
    (schema,), _ = msgspec.json.schema_components([part])
    return {key: schema[key] for key in ("minimum", "maximum") if key in schema}


def _query_schema(annotation: Any) -> dict[str, Any]:
    parts = [part for part in _alternatives(annotation) if part is not type(None)]
    plain = _plain(parts[0])
    if get_origin(plain) is Literal:
        return {"type": "string", "enum": list(get_args(plain))}
    if plain is bool:
        return {"type": "string", "pattern": _anycase(*sorted(QUERY_TRUE), *sorted(QUERY_FALSE))}
    if plain is int:
        return {"type": "integer", "minimum": INTEGERS.start, "maximum": INTEGERS.stop - 1}
    return {"type": "string"}


def _anycase(*words: str) -> str:
    """A pattern of *words* in letters of either size; no flag of patterns says so in JSON Schema."""
    spelled = ("".join(f"[{c}{c.upper()}]" if c.isalpha() else c for c in word) for word in words)
    return f"^({'|'.join(spelled)})$"


def _alternatives(annotation: Any) -> list[Any]:
    """The types that *annotation* admits, with their bounds, without ``UNSET``."""
    if get_origin(annotation) in {Union, types.UnionType}:
        return [one for part in get_args(annotation) for one in _alternatives(part)]
    return [] if annotation is UnsetType else [annotation]


def _plain(part: Any) -> Any:
    return get_args(part)[0] if get_origin(part) is Annotated else part


def _described(annotation: Any) -> dict[str, Any]:
    """What a ``Meta`` of *annotation* says about it."""
    for part in (annotation, *_alternatives(annotation)):
        for note in getattr(part, "__metadata__", ()):
            if isinstance(note, Meta) and note.description:
                return {"description": note.description}
    return {}
