"""Holds answers to the document of the API: status, type of content, and body."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Protocol

import msgspec

from ctfd_twisted.http.openapi.document import BASE

JSON: Final = "application/json"


class Wrong(Protocol):
    """What a validator found."""

    message: str
    instance_path: Any


class Validator(Protocol):
    """A schema that was compiled; ``jsonschema_rs`` makes one."""

    def iter_errors(self, instance: Any) -> Iterable[Wrong]:
        """Everything in *instance* that the schema does not admit."""


#: ``jsonschema_rs.Draft202012Validator``, or what does the same.
MakeValidator = Callable[[dict[str, Any]], Validator]


class Conformance:
    """One document, and what was compiled of it so far."""

    def __init__(self, document: Mapping[str, Any], make_validator: MakeValidator) -> None:
        self._root = document["servers"][0]["url"].removesuffix(BASE)
        self._components = document["components"]
        self._make_validator = make_validator
        self._operations: dict[str, Mapping[str, Any]] = document["paths"]
        with_parameters = sorted((path for path in self._operations if "{" in path), key=lambda path: path.count("{"))
        self._patterns = [(_pattern(path, self._operations[path]), path) for path in with_parameters]
        self._validators: dict[tuple[str, str, int], Validator] = {}

    def check(self, method: str, path: str, status: int, content_type: str | None, body: bytes) -> None:
        """Raise ``AssertionError`` where the document knows this route and does not tell of this answer."""
        template = self._template(path.partition("?")[0].removeprefix(self._root))
        operation = None if template is None else self._operations[template].get(method.lower().replace("head", "get"))
        if template is None or operation is None:
            return
        about = f"{method} {BASE}{template} answered {status}"
        response = operation["responses"].get(str(status))
        if response is None:
            raise AssertionError(f"{about}, which its document does not tell: {body[:500]!r}")
        if "$ref" in response:
            response = self._components["responses"][response["$ref"].rpartition("/")[2]]
        contents = response.get("content", {})
        kind = (content_type or "").partition(";")[0]
        if contents and kind not in contents:
            raise AssertionError(f"{about} as {kind!r}; its document tells of {sorted(contents)}")
        if kind == JSON and contents and method != "HEAD":
            self._check_body(about, (template, method, status), contents[JSON].get("schema", {}), body)

    def _template(self, path: str) -> str | None:
        if not path.startswith(BASE):
            return None
        below = path.removeprefix(BASE)
        if below in self._operations:
            return below
        return next((template for pattern, template in self._patterns if pattern.fullmatch(below)), None)

    def _check_body(self, about: str, key: tuple[str, str, int], schema: Mapping[str, Any], body: bytes) -> None:
        validator = self._validators.get(key)
        if validator is None:
            # Those that it needs, not all: they are compiled again for each answer.
            named = {name: self._components["schemas"][name] for name in _needed(schema, self._components["schemas"])}
            validator = self._make_validator({**schema, "components": {"schemas": named}})
            self._validators[key] = validator
        value = msgspec.json.decode(body)
        wrong = [f"/{'/'.join(map(str, one.instance_path))}: {one.message}" for one in validator.iter_errors(value)]
        if wrong:
            told = "\n  ".join(wrong[:5])
            raise AssertionError(f"{about} with a body that its document does not admit:\n  {told}\n{body[:1500]!r}")


def _needed(schema: Any, named: Mapping[str, Any]) -> set[str]:
    """The names of the schemas that *schema* refers to, and those refer to, and so on."""
    found: set[str] = set()
    waiting: list[Any] = [schema]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Mapping):
            name = str(one.get("$ref", "")).rpartition("/")[2]
            if name and name not in found:
                found.add(name)
                waiting.append(named[name])
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one
    return found


def _pattern(path: str, operations: Mapping[str, Any]) -> re.Pattern[str]:
    """A pattern for the paths of a template: where an integer is wanted, a word names another path."""
    parameters = next(iter(operations.values())).get("parameters", ())
    numbers = {one["name"] for one in parameters if one["in"] == "path" and one["schema"]["type"] == "integer"}
    parts = re.split(r"\{(\w+)\}", path)
    names = [r"[0-9]+" if name in numbers else r"[^/]+" for name in parts[1::2]]
    texts = [re.escape(text) for text in parts[::2]]
    return re.compile(texts[0] + "".join(name + text for name, text in zip(names, texts[1:], strict=True)))
