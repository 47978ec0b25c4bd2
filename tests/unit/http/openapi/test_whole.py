"""Claims about the whole API: every route tells what it reads and answers, in words that people understand."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

from ctfd_twisted.http.openapi.document import NAMESPACES
from ctfd_twisted.http.routes import Routes
from ctfd_twisted.testing import MemoryPlatform


@pytest.fixture(scope="module")
def document() -> Iterator[dict[str, Any]]:
    platform = MemoryPlatform()
    yield platform.client().get("/api/v1/openapi.json").json
    platform.close()


def test_every_route_of_the_api_tells_what_it_answers(document: dict[str, Any]) -> None:
    modules = [module for name, module in sys.modules.items() if name.startswith("ctfd_twisted.")]
    classes = {one for module in modules for one in vars(module).values() if isinstance(one, type)}
    tables = [table for one in classes if isinstance(table := getattr(one, "routes", None), Routes)]
    routes = [route for table in tables for route in table if route.is_api]
    assert [f"{route.method} {route.path}" for route in routes if not route.is_described] == []
    assert len(routes) == sum(map(len, document["paths"].values()))


def test_every_namespace_has_words(document: dict[str, Any]) -> None:
    assert {tag["name"] for tag in document["tags"]} == set(NAMESPACES)


def test_every_operation_has_a_summary_of_its_own_kind(document: dict[str, Any]) -> None:
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            assert operation["summary"], (method, path)
            assert len(operation["summary"]) <= 110, operation["summary"]
            assert not operation["summary"].endswith("."), operation["summary"]


def test_what_is_sent_and_answered_has_types_of_its_own(document: dict[str, Any]) -> None:
    unused = set(document["components"]["schemas"]) - set(references(document))
    assert unused <= {"SentBoolean", "SentInteger"}


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"].rpartition("/")[2]
        for one in value.values():
            yield from references(one)
    elif isinstance(value, list):
        for one in value:
            yield from references(one)
