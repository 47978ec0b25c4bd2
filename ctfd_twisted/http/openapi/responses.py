"""What a route answers, by status and type of content."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from msgspec import UNSET

from ctfd_twisted.http.answers import JSON
from ctfd_twisted.http.described import Described
from ctfd_twisted.http.openapi.answered import answer_schemas
from ctfd_twisted.http.openapi.refusals import refusals
from ctfd_twisted.http.routes import Route

_SUCCESS: Final = "Success."
_SECONDS: Final = {"description": "Seconds.", "schema": {"type": "integer", "minimum": 0}}
_HEADERS: Final[dict[int, dict[str, Any]]] = {
    302: {"Location": {"description": "Where to.", "schema": {"type": "string"}}},
    429: {"Retry-After": _SECONDS},
    503: {"Retry-After": _SECONDS},
}


class Responses:
    """Writes the answers of routes; their types are looked up together, so that each is named once."""

    def __init__(self, routes: Sequence[Route], malformed_status: int) -> None:
        self._answers = {id(route): (*route.also, *refusals(route, malformed_status)) for route in routes}
        types = [one.type for answers in self._answers.values() for one in answers if one.type is not None]
        types += [kind for route in routes for kind in (route.data, route.meta) if kind is not UNSET]
        types = list({id(kind): kind for kind in types if kind is not None}.values())
        schemas, self.named = answer_schemas(types)
        self._schemas = {id(kind): schema for kind, schema in zip(types, schemas, strict=True)}

    def of(self, route: Route) -> dict[str, Any]:
        """The answers of *route* by status."""
        found: dict[int, dict[str, list[dict[str, Any]]]] = {}
        texts: dict[int, list[str]] = {}
        if route.data is not UNSET:
            found[200] = {JSON: [self._envelope(route)]}
            texts[200] = [_SUCCESS]
        for one in self._answers[id(route)]:
            contents = found.setdefault(one.status, {})
            if one.content_type:
                kind = one.content_type.partition(";")[0]
                schemas, schema = contents.setdefault(kind, []), self._schema(one)
                if schema not in schemas:
                    schemas.append(schema)
            texts.setdefault(one.status, []).append(one.description)
        return {str(status): _response(status, texts[status], found[status]) for status in sorted(found)}

    def _envelope(self, route: Route) -> dict[str, Any]:
        parts: dict[str, Any] = {"success": {"const": True}}
        for name, kind in (("data", route.data), ("meta", route.meta)):
            if kind is not UNSET and kind is not None:
                parts[name] = self._schemas[id(kind)]
        return {"type": "object", "properties": parts, "required": list(parts), "additionalProperties": False}

    def _schema(self, one: Described) -> dict[str, Any]:
        if one.type is not None:
            return self._schemas[id(one.type)]
        return {"type": "string"} if one.content_type.startswith("text/") else {}


def _response(status: int, texts: list[str], contents: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    response: dict[str, Any] = {"description": " ".join(dict.fromkeys(texts))}
    if status in _HEADERS:
        response["headers"] = _HEADERS[status]
    if contents:
        response["content"] = {
            kind: {"schema": schemas[0] if len(schemas) == 1 else {"anyOf": schemas}}
            for kind, schemas in contents.items()
        }
    return response


def shared(paths: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Name each refusal that several operations of *paths* give, and let them refer to it; the named ones."""
    uses: dict[str, list[tuple[dict[str, Any], str]]] = {}
    for operations in paths.values():
        for operation in operations.values():
            for status, response in operation["responses"].items():
                if status != "200":
                    uses.setdefault(repr((status, response)), []).append((operation["responses"], status))
    named: dict[str, Any] = {}
    for places in uses.values():
        responses, status = places[0]
        if len(places) > 1:
            name = f"Answer{status}" + chr(ord("a") + sum(key.startswith(f"Answer{status}") for key in named))
            named[name] = responses[status]
            for where, key in places:
                where[key] = {"$ref": f"#/components/responses/{name}"}
    return named
