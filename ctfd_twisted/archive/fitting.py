"""Values of archives into the columns of today: what was written by older CTFds, other databases, or by hand. Pure."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, Literal

import msgspec

Kind = Literal["boolean", "integer", "number", "text", "instant", "object", "json", "bytes"]

#: What an INTEGER column holds.
_INTEGERS: Final = range(-(2**31), 2**31)
_BOOLEANS: Final[Mapping[object, bool]] = {0: False, 1: True, "0": False, "1": True, "false": False, "true": True}

#: What CTFd's migrations, or its program, put where an older archive has no column. Others become NULL.
DEFAULTS: Final[Mapping[tuple[str, str], object]] = {
    ("awards", "type"): "standard",
    ("hints", "type"): "standard",
    ("pages", "format"): "markdown",
    ("tokens", "type"): "user",
    ("audiences", "type"): "standard",
    ("solutions", "state"): "hidden",
    ("users", "hidden"): False,
    ("users", "banned"): False,
    ("users", "verified"): False,
    ("users", "change_password"): False,
    ("teams", "hidden"): False,
    ("teams", "banned"): False,
    ("challenges", "max_attempts"): 0,
    ("challenges", "state"): "visible",
    ("challenges", "logic"): "any",
    ("challenges", "position"): 0,
    ("challenges", "function"): "static",
    ("dynamic_challenge", "dynamic_function"): "logarithmic",
}
#: Where these are there and say nothing, they mean the default as well.
_NEVER_EMPTY: Final = frozenset({
    ("challenges", "state"), ("challenges", "logic"), ("challenges", "position"),
    ("dynamic_challenge", "dynamic_function"), ("solutions", "state"), ("audiences", "type"),
})  # fmt: skip

#: CTFd's revisions that changed data.
THEMES: Final = "5c98d9253f56"
RATINGS: Final = "24ad6790bc3c"
BRACKETS: Final = "9889b8c53673"
_RENAMED: Final = {
    "core-beta": "core",
    "hacker-beta-theme": "hacker-theme",
    "learning-beta-theme": "learning-theme",
    "learning": "learning-theme",
}


class Column(msgspec.Struct, frozen=True):
    """What a column takes."""

    table: str
    name: str
    kind: Kind
    length: int | None
    nullable: bool


class Fitted(msgspec.Struct, frozen=True):
    """A row with all columns of its table, and what had to be changed: ``(column, what)``."""

    values: dict[str, Any]
    changes: tuple[tuple[str, str], ...]


def upgraded(table: str, row: Mapping[str, Any], lacking: frozenset[str]) -> dict[str, Any]:
    """*row* as CTFd's newest revision has it; *lacking* are the revisions that its archive does not have yet."""
    new = dict(row)
    if table == "dynamic_challenge":
        for name in ("initial", "minimum", "decay", "function"):
            new.setdefault(f"dynamic_{name}", new.pop(name, None))
    elif table == "ratings" and RATINGS in lacking and isinstance(new.get("value"), int):
        new["value"] = 1 if new["value"] > 2 else -1  # noqa: PLR2004 - of five stars
    elif table == "config" and THEMES in lacking and new.get("key") == "ctf_theme":
        new["value"] = _RENAMED.get(new.get("value") or "", new.get("value"))
    elif table == "pages" and THEMES in lacking and isinstance(new.get("content"), str):
        for old, name in _RENAMED.items():
            new["content"] = new["content"].replace(f"/themes/{old}/", f"/themes/{name}/")
    elif table == "field_entries" and BRACKETS in lacking:
        new["value"] = _unwrapped(new.get("value"))
    return new


def _unwrapped(value: object) -> object:
    """An answer that was encoded more than once; the text in which all layers end, or a boolean."""
    while isinstance(value, str):
        try:
            inner = json.loads(value)
        except ValueError:
            return value
        if not isinstance(inner, str | bool):
            return value
        value = inner
    return value


def fitted(columns: Mapping[str, Column], row: Mapping[str, Any]) -> Fitted:
    """*row* with exactly *columns*. Raises ``ValueError`` where a column needs a value and there is none."""
    values: dict[str, Any] = {}
    changes = [(name, "is no column here") for name in row.keys() - columns.keys()]
    for name, column in columns.items():
        key = (column.table, name)
        value = row.get(name, DEFAULTS.get(key))
        if key in _NEVER_EMPTY and (value is None or value == ""):
            value = DEFAULTS[key]
        if value is not None:
            value, problem = _fit(column, value)
            if problem:
                changes.append((name, problem))
        if value is None and not column.nullable:
            raise ValueError(f"a row of {column.table} has no {name}")
        values[name] = value
    return Fitted(values, tuple(changes))


def _fit(column: Column, value: object) -> tuple[Any, str]:
    try:
        found = _FITS[column.kind](value)
    except (ValueError, TypeError, OverflowError):
        return None, f"held what is no {column.kind}"
    if isinstance(found, str) and column.length is not None and len(found) > column.length:
        return found[: column.length], f"was cut to {column.length} characters"
    return found, ""


def _boolean(value: object) -> bool:
    try:
        return _BOOLEANS[value.lower() if isinstance(value, str) else value]
    except KeyError:
        raise ValueError(value) from None


def _integer(value: object) -> int:
    if not isinstance(value, int | str):
        raise TypeError(value)
    number = int(value)
    if number not in _INTEGERS:
        raise ValueError(value)
    return number


def _number(value: object) -> float:
    if not isinstance(value, int | float | str):
        raise TypeError(value)
    return float(value)


def _text(value: object) -> str:
    if isinstance(value, dict | list):
        raise TypeError(value)
    # PostgreSQL holds no U+0000.
    return (value if isinstance(value, str) else str(value)).replace("\0", "")


def _instant(value: object) -> datetime:
    if not isinstance(value, str):
        raise TypeError(value)
    found = datetime.fromisoformat(value)
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)


def _object(value: object) -> dict[str, Any] | None:
    """Requirements; CTFd 2.0 and 2.1 wrote them as text."""
    found = json.loads(value) if isinstance(value, str) else value
    if found is not None and not isinstance(found, dict):
        raise TypeError(value)
    return found


def _bytes(value: object) -> bytes:
    if not isinstance(value, str):
        raise TypeError(value)
    try:
        return base64.b64decode(value, validate=True)
    except binascii.Error:
        raise ValueError(value) from None


_FITS: Final[Mapping[Kind, Callable[[object], Any]]] = {
    "boolean": _boolean,
    "integer": _integer,
    "number": _number,
    "text": _text,
    "instant": _instant,
    "object": _object,
    "json": lambda value: value,
    "bytes": _bytes,
}
