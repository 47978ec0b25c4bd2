"""OpenAPI 3.1 out of tables of routes.

A pure function of the tables, of the status of malformed bodies, and of the root that the server is mounted under.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from ctfd_twisted.http.answers import JSON
from ctfd_twisted.http.bodies import INTEGERS
from ctfd_twisted.http.described import Body
from ctfd_twisted.http.gates import ADMIN, AUTHED, TEAM_REQUIRED
from ctfd_twisted.http.openapi.answered import REF
from ctfd_twisted.http.openapi.refusals import asked
from ctfd_twisted.http.openapi.responses import Responses, shared
from ctfd_twisted.http.openapi.sent import LENIENT, body_schema, body_types, query_parameters
from ctfd_twisted.http.routes import Handler, Route

BASE: Final = "/api/v1"
URLENCODED: Final = "application/x-www-form-urlencoded"
MULTIPART: Final = "multipart/form-data"

_PARAMETER: Final = re.compile(r"<(?:(\w+):)?(\w+)>")
_SENTENCE: Final = re.compile(r"[.;] ")
_DESCRIPTION: Final = """\
The REST API of a capture-the-flag platform, compatible with that of CTFd 3.8.

Successful answers are `{"success": true, "data": ...}`. Refusals have `message`, or `errors` with texts by field.
Times are UTC, in ISO 8601. Unknown parameters of queries and unknown keys of bodies are ignored.

A script shows an access token: `Authorization: Bearer ctfd_...`. A browser has its session's cookie, and writes with
the session's nonce: in the header `CSRF-Token` where the body is JSON, in the field `nonce` where it is a form."""
_SECURITY: Final[dict[str, Any]] = {
    "accessToken": {
        "type": "http",
        "scheme": "bearer",
        "description": "An access token, which players and administrators make in their settings.",
    },
    "session": {"type": "apiKey", "in": "cookie", "name": "session", "description": "The session of a browser."},
    "nonce": {
        "type": "apiKey",
        "in": "header",
        "name": "CSRF-Token",
        "description": "The session's nonce, which every page has as `csrfNonce`.",
    },
}
#: What the first segment of a path names; the document's own are together.
NAMESPACES: Final[Mapping[str, str]] = {
    "audiences": "Groups of accounts to whom modules are opened.",
    "awards": "Points that were given, or taken, by hand or by a hill.",
    "brackets": "Divisions in which accounts are ranked by themselves.",
    "challenges": "Challenges, answers to them, and what hangs on them.",
    "comments": "What administrators note about challenges, accounts and pages.",
    "configs": "The competition's settings, and the custom fields of accounts.",
    "ctftime": "The board as CTFtime reads it.",
    "docs": "What this API is.",
    "exports": "Downloads of the whole competition, and of single tables and reports.",
    "files": "Uploaded files. Their content is at `/files`.",
    "flags": "What answers are compared with.",
    "hints": "Hints, which may cost points.",
    "koth": "King of the hill: who holds what, since when, and how it was found out.",
    "mail": "A trial of the mail server.",
    "modules": "Groups of challenges that may be opened to audiences alone.",
    "notifications": "What the organisers had to say.",
    "pages": "The competition's own pages.",
    "scoreboard": "The board.",
    "shares": "Links that tell others of a solve.",
    "solutions": "How challenges were meant to be solved.",
    "statistics": "Numbers about the competition.",
    "submissions": "Every answer that was given, and what came of it.",
    "tags": "Tags of challenges.",
    "teams": "Teams, and one's own.",
    "tokens": "Access tokens.",
    "topics": "Topics, and which challenges are about them.",
    "unlocks": "Hints and solutions that were unlocked.",
    "users": "Users, and oneself.",
    "webhooks": "Receivers that are told of events, and what was sent to them.",
}
#: The gates that nobody passes without a login.
_LOGIN: Final = frozenset({ADMIN, AUTHED, TEAM_REQUIRED})


def make_document(table: Iterable[tuple[Route, Handler]], *, malformed_status: int, root: str = "") -> dict[str, Any]:
    """The document of those routes of *table* that are part of the API and say what they answer, as a JSON value."""
    handlers = {route: handler for route, handler in table if route.is_api and route.is_described}
    responses = Responses(list(handlers), malformed_status)
    paths: dict[str, dict[str, Any]] = {}
    tags: dict[str, str] = {}
    bodies: dict[str, Any] = {}
    for route in sorted(handlers, key=lambda route: route.path):
        path = _PARAMETER.sub(r"{\2}", route.path.removeprefix(BASE))
        operation = _operation(route, handlers[route])
        if route.body is not None:
            operation["requestBody"] = _request_body(route.method, route.body, bodies)
        paths.setdefault(path, {})[route.method.lower()] = {**operation, "responses": responses.of(route)}
        tags.setdefault(_tag(route), NAMESPACES.get(_tag(route), ""))
    document = {
        "openapi": "3.1.0",
        "info": {"title": "REST API", "version": "1", "description": _DESCRIPTION},
        "servers": [{"url": root + BASE}],
        "tags": [{"name": name, "description": text} for name, text in tags.items()],
        "paths": paths,
        "components": {
            "responses": shared(paths),
            "schemas": _together(LENIENT, bodies, responses.named),
            "securitySchemes": _SECURITY,
        },
    }
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(document))
    return plain


def _operation(route: Route, handler: Handler) -> dict[str, Any]:
    """What stands in a document for *route*, without its body and its answers."""
    begin, _, rest = inspect.cleandoc(handler.__doc__ or "").replace("``", "`").partition("\n\n")
    first, *more = _SENTENCE.split(_flat(begin), maxsplit=1)
    notes = (*(f"{one[:1].upper()}{one[1:]}" for one in more), rest.strip(), _terms(route))
    operation = {
        "tags": [_tag(route)],
        "operationId": _name(route),
        "summary": first.rstrip("."),
        "description": "\n\n".join(filter(None, notes)),
        "security": _security(route),
    }
    parameters = [*_path_parameters(route), *query_parameters(route.query)]
    return {**operation, "parameters": parameters} if parameters else operation


def _tag(route: Route) -> str:
    name = route.path.removeprefix(BASE).split("/")[1]
    return "docs" if "." in name else name


def _name(route: Route) -> str:
    """``get_flags_by_flag_id``: it stays while the route does."""
    words = _PARAMETER.sub(r"by_\2", route.path.removeprefix(BASE))
    return route.method.lower() + re.sub(r"\W+", "_", words)


def _flat(text: str | None) -> str:
    return " ".join((text or "").split())


def _terms(route: Route) -> str:
    """Who may ask, when, and how often."""
    terms = [asked(gate).text for gate in route.gates]
    if route.limit is not None:
        terms.append(f"At most {route.limit.requests} requests in {route.limit.seconds} seconds.")
    return " ".join(terms)


def _security(route: Route) -> list[dict[str, list[str]]]:
    session: dict[str, list[str]] = {"session": []}
    if route.method != "GET":
        session["nonce"] = []
    ways: list[dict[str, list[str]]] = [{"accessToken": []}, session]
    if route.always:
        return []
    return ways if _LOGIN & set(route.gates) else [*ways, {}]


def _path_parameters(route: Route) -> list[dict[str, Any]]:
    found = []
    for converter, name in _PARAMETER.findall(route.path):
        schema: dict[str, Any] = {"type": "string", "minLength": 1}
        if converter == "int":
            schema = {"type": "integer", "minimum": 0, "maximum": INTEGERS.stop - 1}
        found.append({"name": name, "in": "path", "required": True, "schema": schema})
    return found


def _together(*found: Mapping[str, Any]) -> dict[str, Any]:
    """All named schemas, by name; raises ``ValueError`` where two types have one name."""
    together: dict[str, Any] = {}
    for named in found:
        for name, schema in named.items():
            if together.setdefault(name, schema) != schema:
                raise ValueError(f"two types of the API are called {name}")
    return dict(sorted(together.items()))


def _request_body(method: str, body: Body, bodies: dict[str, Any]) -> dict[str, Any]:
    """What is sent; the named schemas that it needs are put into *bodies*."""
    structs = body.structs
    types = [*body_types(structs), None] if structs else [body.type]
    (schema, *_), named = msgspec.json.schema_components(types, ref_template=REF)
    if structs:
        name = structs[0].__name__
        schema = {"$ref": REF.format(name=name)}
        named = _together(named, {name: body_schema(structs)})
    bodies.update(_together(bodies, named))
    if body.files is not None:
        one = {"type": "array", "items": {"type": "string", "format": "binary"}}
        fields = {"allOf": [schema], "type": "object", "properties": {body.files: one}}
        return {"required": not body.optional, "content": {MULTIPART: {"schema": fields}}}
    # A form is read where the request is no JSON, of POST alone.
    forms = (URLENCODED, MULTIPART) if method == "POST" else ()
    return {"required": not body.optional, "content": {kind: {"schema": schema} for kind in (JSON, *forms)}}
