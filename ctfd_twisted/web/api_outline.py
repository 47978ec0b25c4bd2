"""The API's document as its page draws it: operations by namespace, and types in words. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
from markupsafe import Markup, escape

#: Types by themselves, in words.
_PLAIN: Final[Mapping[str, str]] = {
    "array": "list",
    "boolean": "true or false",
    "integer": "integer",
    "null": "null",
    "number": "number",
    "object": "object",
    "string": "text",
}


class Field(msgspec.Struct, frozen=True):
    """A parameter, or a key of an object."""

    name: str
    kind: Markup
    text: str
    #: Where it stands, or whether it has to.
    note: str = ""


class Shown(msgspec.Struct, frozen=True):
    """An answer: where *link* is set, one that is drawn once for many operations."""

    status: str
    text: str
    kinds: Sequence[tuple[str, Markup]]
    link: str = ""


class Operation(msgspec.Struct, frozen=True):
    """A method of a path; ``bodies`` are the types that it takes with those of their contents."""

    name: str
    method: str
    path: str
    summary: str
    paragraphs: Sequence[str]
    parameters: Sequence[Field]
    bodies: Sequence[tuple[str, Markup]]
    body_required: bool
    success: Sequence[Shown]
    refusals: Sequence[Shown]


class Namespace(msgspec.Struct, frozen=True):
    """What stands below one name."""

    name: str
    text: str
    operations: Sequence[Operation]


class Shape(msgspec.Struct, frozen=True):
    """A named type; one without fields is told in words."""

    name: str
    text: str
    fields: Sequence[Field]
    words: Markup


class Outline(msgspec.Struct, frozen=True):
    """All of it."""

    base: str
    paragraphs: Sequence[str]
    namespaces: Sequence[Namespace]
    answers: Sequence[Shown]
    shapes: Sequence[Shape]


def outline(document: Mapping[str, Any]) -> Outline:
    """*document*, which is of OpenAPI 3.1, for its page."""
    components = document["components"]
    found: dict[str, list[Operation]] = {tag["name"]: [] for tag in document["tags"]}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            found[operation["tags"][0]].append(_operation(path, method, operation, components["responses"]))
    return Outline(
        document["servers"][0]["url"],
        _paragraphs(document["info"]["description"]),
        [Namespace(tag["name"], _prose(tag["description"]), found[tag["name"]]) for tag in document["tags"]],
        [_shown(name.removeprefix("Answer")[:3], one, name) for name, one in components["responses"].items()],
        [_shape(name, schema) for name, schema in components["schemas"].items()],
    )


def _operation(path: str, method: str, operation: Mapping[str, Any], shared: Mapping[str, Any]) -> Operation:
    answers = []
    for status, one in operation["responses"].items():
        link = one["$ref"].rpartition("/")[2] if "$ref" in one else ""
        answers.append(_shown(status, shared[link] if link else one, link))
    body = operation.get("requestBody", {"required": False, "content": {}})
    return Operation(
        operation["operationId"],
        method.upper(),
        path,
        _prose(operation["summary"]),
        _paragraphs(operation["description"]),
        [
            Field(one["name"], words(one["schema"]), _prose(one.get("description", "")), one["in"])
            for one in operation.get("parameters", ())
        ],
        _merged([(kind, words(content["schema"])) for kind, content in body["content"].items()]),
        body["required"],
        [one for one in answers if one.status.startswith("2")],
        [one for one in answers if not one.status.startswith("2")],
    )


def _shown(status: str, response: Mapping[str, Any], link: str) -> Shown:
    kinds = [(kind, words(content.get("schema", {}))) for kind, content in response.get("content", {}).items()]
    return Shown(status, _prose(response["description"]), kinds, link)


def _merged(kinds: list[tuple[str, Markup]]) -> list[tuple[str, Markup]]:
    """*kinds* of content with one type side by side."""
    together: dict[Markup, list[str]] = {}
    for kind, text in kinds:
        together.setdefault(text, []).append(kind)
    return [(", ".join(names), text) for text, names in together.items()]


def _shape(name: str, schema: Mapping[str, Any]) -> Shape:
    keys, required = schema.get("properties", {}), schema.get("required", ())
    # What is the exception is said.
    notes = ("", "may be missing") if len(required) * 2 > len(keys) else ("required", "")
    fields = [
        Field(key, words(one), _prose(one.get("description", "")), notes[key not in required])
        for key, one in keys.items()
    ]
    return Shape(name, _prose(schema.get("description", "")), fields, words(schema) if not fields else Markup(""))


def words(schema: Mapping[str, Any]) -> Markup:
    """What *schema* admits, in words; named types are links."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return Markup('<a href="#{}">{}</a>').format(name, name)
    if "const" in schema:
        return _literal(schema["const"])
    if "enum" in schema:
        return Markup(" or ").join(map(_literal, schema["enum"]))
    if "anyOf" in schema:
        return Markup(" or ").join(map(words, schema["anyOf"]))
    if "allOf" in schema:
        own = [_object(schema)] if "properties" in schema else []
        return Markup(" and ").join([*map(words, schema["allOf"]), *own])
    kinds = schema.get("type")
    if isinstance(kinds, list):
        return Markup(" or ").join(_PLAIN[kind] for kind in kinds)
    if kinds == "object":
        return _object(schema)
    if kinds == "array":
        return _array(schema)
    return escape(_PLAIN[kinds] + _bounds(schema)) if kinds else Markup("anything")


def _literal(value: object) -> Markup:
    return Markup("<code>{}</code>").format(json.dumps(value))


def _object(schema: Mapping[str, Any]) -> Markup:
    more = schema.get("additionalProperties")
    if "properties" in schema:
        keys = (Markup("<code>{}</code>: {}").format(key, words(one)) for key, one in schema["properties"].items())
        return Markup("{{ {} }}").format(Markup(", ").join(keys))
    return Markup("object of {}").format(words(more)) if isinstance(more, Mapping) and more else Markup("object")


def _array(schema: Mapping[str, Any]) -> Markup:
    if schema.get("prefixItems"):
        return Markup("[{}]").format(Markup(", ").join(map(words, schema["prefixItems"])))
    items = schema.get("items")
    return Markup("list of {}").format(words(items)) if items else Markup("list")


def _bounds(schema: Mapping[str, Any]) -> str:
    if schema.get("format") == "date-time":
        return ", an instant"
    if schema.get("format") == "binary":
        return ", a file"
    if "maxLength" in schema:
        return f", at most {schema['maxLength']} characters"
    if "pattern" in schema and len(schema["pattern"]) < 40:  # noqa: PLR2004 - what is longer is no help
        return f" like {schema['pattern']}"
    low, high = schema.get("minimum"), schema.get("maximum")
    known = {-(2**31), 2**31 - 1, None}
    return "" if {low, high} <= known else f" from {low}" if high in known else f" from {low} to {high}"


def _paragraphs(text: str) -> list[str]:
    return [_prose(" ".join(paragraph.split())) for paragraph in text.split("\n\n") if paragraph.strip()]


def _prose(text: str) -> str:
    """*text* with what stands between backticks as code."""
    parts = text.replace("``", "`").split("`")
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if number % 2 else escape(part) for number, part in enumerate(parts)
    )
