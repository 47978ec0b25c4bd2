"""OpenAPI 2.0 out of 3.1, for tools that know no other.

The old format can't say all of it: what it has no words for is left open, never told wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

#: Keywords of schemas that mean the same in both.
_KEPT: Final = frozenset(
    (
        *("title", "description", "type", "format", "enum", "required", "pattern", "minimum", "maximum"),
        *("minLength", "maxLength", "minItems", "maxItems"),
    )
)


def swagger(document: Mapping[str, Any]) -> dict[str, Any]:
    """*document*, which is of version 3.1, in version 2.0."""
    components = document["components"]
    return {
        "swagger": "2.0",
        "info": document["info"],
        "basePath": document["servers"][0]["url"],
        "tags": document["tags"],
        "securityDefinitions": {
            "accessToken": {
                "type": "apiKey",
                "in": "header",
                "name": "Authorization",
                "description": components["securitySchemes"]["accessToken"]["description"],
            },
            # A cookie is a header, too; this version knows none.
            "session": {"type": "apiKey", "in": "header", "name": "Cookie", "description": "session=..."},
            "nonce": components["securitySchemes"]["nonce"],
        },
        "definitions": {name: _schema(schema) for name, schema in components["schemas"].items()},
        "responses": {name: _response(response) for name, response in components["responses"].items()},
        "paths": {
            path: {method: _operation(one, components) for method, one in operations.items()}
            for path, operations in document["paths"].items()
        },
    }


def _operation(operation: Mapping[str, Any], components: Mapping[str, Any]) -> dict[str, Any]:
    responses, named = operation["responses"], components["responses"]
    contents = (
        (named[response["$ref"].rpartition("/")[2]] if "$ref" in response else response).get("content", {})
        for response in responses.values()
    )
    old = {key: operation[key] for key in ("tags", "operationId", "summary", "description", "security")}
    parameters = [_parameter(one) for one in operation.get("parameters", ())]
    if "requestBody" in operation:
        old["consumes"], sent = _sent(operation["requestBody"], components["schemas"])
        parameters += sent
    return {
        **old,
        "parameters": parameters,
        "produces": sorted({kind for content in contents for kind in content}),
        "responses": {
            status: {"$ref": response["$ref"].replace("#/components", "#")}
            if "$ref" in response
            else _response(response)
            for status, response in responses.items()
        },
    }


def _parameter(parameter: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: parameter[key] for key in ("name", "in", "description", "required") if key in parameter}
    return {**kept, **_schema(parameter["schema"])}


def _sent(body: Mapping[str, Any], named: Mapping[str, Any]) -> tuple[list[str], list[dict[str, Any]]]:
    kinds = body["content"]
    if "application/json" in kinds:
        schema = _schema(kinds["application/json"]["schema"])
        return ["application/json"], [{"name": "body", "in": "body", "required": body["required"], "schema": schema}]
    schema = kinds["multipart/form-data"]["schema"]
    fields = [name for one in schema["allOf"] for name in named[one["$ref"].rpartition("/")[2]]["properties"]]
    texts = [{"name": name, "in": "formData", "type": "string"} for name in fields]
    files = [{"name": name, "in": "formData", "type": "file"} for name in schema["properties"]]
    return ["multipart/form-data"], [*texts, *files]


def _response(response: Mapping[str, Any]) -> dict[str, Any]:
    if "$ref" in response:
        return {"$ref": response["$ref"].replace("#/components/", "#/")}
    content = response.get("content", {})
    old: dict[str, Any] = {"description": response["description"]}
    if "application/json" in content:
        old["schema"] = _schema(content["application/json"].get("schema", {}))
    if "headers" in response:
        old["headers"] = {
            name: {"description": one["description"], **_schema(one["schema"])}
            for name, one in response["headers"].items()
        }
    return old


def _schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """*schema* without what version 2.0 has no words for."""
    if "$ref" in schema:
        return {"$ref": schema["$ref"].replace("#/components/schemas/", "#/definitions/")}
    if "anyOf" in schema:
        return _choice(schema)
    old = {key: value for key, value in schema.items() if key in _KEPT}
    if "const" in schema:
        old["enum"] = [schema["const"]]
    if isinstance(old.get("type"), list):
        for key in ("type", "minimum", "maximum", "pattern"):
            old.pop(key, None)
    if "properties" in schema:
        old["properties"] = {name: _schema(one) for name, one in schema["properties"].items()}
    if "additionalProperties" in schema:
        more = schema["additionalProperties"]
        old["additionalProperties"] = more if isinstance(more, bool) else _schema(more)
    if old.get("type") == "array":
        items = schema.get("items")
        old["items"] = _schema(items) if isinstance(items, Mapping) else {}
    if old.get("type") == "null":
        return {"x-nullable": True, "enum": [None]}
    return old


def _choice(schema: Mapping[str, Any]) -> dict[str, Any]:
    """One of several: the one beside null where there are two, else anything."""
    others = [one for one in schema["anyOf"] if one != {"type": "null"}]
    about = {key: schema[key] for key in ("title", "description") if key in schema}
    if len(others) < len(schema["anyOf"]):
        about["x-nullable"] = True
    if len(others) > 1:
        return about
    one = _schema(others[0])
    return {"allOf": [one], **about} if "$ref" in one else {**one, **about}
