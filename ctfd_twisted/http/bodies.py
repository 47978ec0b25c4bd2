"""Bodies and query parameters into typed structs, with a message for each field that is wrong.

What CTFd's clients send is read as leniently as CTFd reads it (``"5"`` is an integer, ``"true"`` a boolean), and every
wrong field is named at once. A field that is missing and optional is ``UNSET``; a key that no field asks for is
ignored.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Final, TypeVar, Union, cast, get_args, get_origin

import msgspec
from msgspec.structs import FieldInfo

from ctfd_twisted.errors import Invalid, Malformed

S = TypeVar("S", bound=msgspec.Struct)

REQUIRED: Final = "Missing data for required field."
NOT_NULL: Final = "Field may not be null."

_KINDS: Final[Mapping[type, str]] = {
    int: "Not a valid integer.",
    float: "Not a valid number.",
    str: "Not a valid string.",
    bool: "Not a valid boolean.",
    datetime: "Not a valid datetime.",
    list: "Not a valid list.",
    dict: "Not a valid object.",
}
#: What a boolean may be written as, in bodies and in queries (where letters of either size count).
TRUE_FORMS: Final = frozenset({"t", "T", "true", "True", "TRUE", "1"})
FALSE_FORMS: Final = frozenset({"f", "F", "false", "False", "FALSE", "0"})
QUERY_TRUE: Final = frozenset({"1", "true", "t", "yes", "y", "on"})
QUERY_FALSE: Final = frozenset({"0", "false", "f", "no", "n", "off"})

#: What an INTEGER column of PostgreSQL holds: no id and no number of CTFd's lies outside.
INTEGERS: Final = range(-(2**31), 2**31)

_loads = msgspec.json.Decoder().decode


def json_object(raw: bytes) -> dict[str, Any]:
    """The JSON object in *raw*; raises ``Malformed`` for anything else."""
    value = json_value(raw)
    if not isinstance(value, dict):
        raise Malformed(f"Invalid input type. Expected a JSON object, got {_name_of(value)}.")
    return value


def json_value(raw: bytes) -> Any:
    """The JSON value in *raw*; raises ``Malformed`` with CTFd's text and the parser's reason."""
    if not raw.strip():
        raise Malformed("Failed to decode JSON object: Expecting value: line 1 column 1 (char 0)")
    try:
        value = _loads(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Malformed(f"Failed to decode JSON object: {error}") from None
    # PostgreSQL stores no such character, and it can only come written out like this.
    if b"\\u0000" in raw and _holds_nul(value):
        raise Invalid({"": ["Text must not hold the character U+0000"]})
    return value


def _holds_nul(value: object) -> bool:
    waiting = [value]  # and not a function that calls itself: how deep it is, whoever sent it says
    while waiting:
        one = waiting.pop()
        if isinstance(one, str) and "\0" in one:
            return True
        if isinstance(one, dict):
            waiting += [*one, *one.values()]
        elif isinstance(one, list):
            waiting += one
    return False


def _name_of(value: object) -> str:
    names = {list: "an array", str: "a string", bool: "a boolean", int: "a number", float: "a number"}
    return "null" if value is None else names.get(type(value), "something else")


def read_struct(raw: Mapping[str, object], kind: type[S]) -> S:
    """*raw* as a *kind*; raises ``Invalid`` that names every wrong field with CTFd's generic messages."""
    values: dict[str, object] = {}
    errors: dict[str, list[str] | str] = {}
    for field in msgspec.structs.fields(kind):
        name = field.encode_name
        if name not in raw:
            if field.required:
                errors[name] = [REQUIRED]
            continue
        try:
            values[field.name] = _field_value(raw[name], field)
        except ValueError as error:
            errors[name] = [str(error)]
    if errors:
        raise Invalid(errors)
    return kind(**values)


def _field_value(value: object, field: FieldInfo) -> object:
    kinds = _kinds_of(field.type)
    if value is None:
        if type(None) in kinds or Any in kinds:
            return None
        raise ValueError(NOT_NULL)
    coerced = _coerced(value, kinds)
    if int in kinds and type(coerced) is int and coerced not in INTEGERS:
        raise ValueError(_KINDS[int])
    try:
        return msgspec.convert(coerced, field.type, strict=True)
    except msgspec.ValidationError as error:
        raise ValueError(_message(value, kinds, error)) from None


def _coerced(value: object, kinds: frozenset[Any]) -> object:
    if bool in kinds and not isinstance(value, bool):
        if isinstance(value, int | float) and value in {0, 1}:
            return value == 1
        text = value if isinstance(value, str) else ""
        return True if text in TRUE_FORMS else False if text in FALSE_FORMS else value
    if int in kinds and not isinstance(value, bool):
        if isinstance(value, float) and value == value and abs(value) != float("inf"):  # noqa: PLR0124 - NaN is not itself
            return int(value)
        if isinstance(value, str):
            try:
                return int(value.strip())
            except ValueError:
                return value
    return value


def _kinds_of(annotation: Any) -> frozenset[Any]:
    """The plain types that *annotation* admits, without ``Annotated`` and ``UNSET``."""
    if annotation is Any or annotation is object:
        return frozenset({Any})
    origin = get_origin(annotation)
    if origin is Annotated:
        return _kinds_of(get_args(annotation)[0])
    if origin in {Union, types.UnionType}:
        kinds: frozenset[Any] = frozenset().union(*(_kinds_of(part) for part in get_args(annotation)))
        return kinds - {msgspec.UnsetType}
    return frozenset({origin or annotation})


def _message(value: object, kinds: frozenset[Any], error: msgspec.ValidationError) -> str:
    for kind in kinds:
        if kind in {str, int, float, list} and type(value) is kind and "length <= " in str(error):
            return f"Longer than maximum length {str(error).rsplit('length <= ', 1)[1].split()[0].rstrip('.')}."
    for kind, text in _KINDS.items():
        if kind in kinds:
            return text if not isinstance(value, kind) or isinstance(value, bool) else str(error)
    return str(error)


def read_query(arguments: Mapping[str, str], kind: type[S]) -> S:
    """Query parameters as a *kind* whose fields are ``int``, ``bool``, ``str`` or ``Literal``, each optional.

    Raises ``Invalid`` with one string per wrong parameter, as CTFd words them.
    """
    if not arguments:
        return kind()
    values: dict[str, object] = {}
    errors: dict[str, list[str] | str] = {}
    for field in msgspec.structs.fields(kind):
        text = arguments.get(field.encode_name)
        if text is None:
            continue
        try:
            values[field.name] = _query_value(text, field.type)
        except ValueError as error:
            errors[field.encode_name] = str(error)
    if errors:
        raise Invalid(errors)
    return kind(**values)


def _query_value(text: str, annotation: Any) -> object:
    options = _literals(annotation)
    if options:
        if text in options:
            return text
        permitted = ", ".join(f"'{option}'" for option in options)
        raise ValueError(f"value is not a valid enumeration member; permitted: {permitted}")
    kinds = _kinds_of(annotation)
    if bool in kinds:
        if text.lower() in QUERY_TRUE:
            return True
        if text.lower() in QUERY_FALSE:
            return False
        raise ValueError("value could not be parsed to a boolean")
    if int in kinds:
        try:
            number = int(text.strip())
        except ValueError:
            number = INTEGERS.stop
        if number not in INTEGERS:
            raise ValueError("value is not a valid integer")
        return number
    return text


def _literals(annotation: Any) -> tuple[str, ...]:
    for part in (annotation, *get_args(annotation)):
        if str(get_origin(part)) == "typing.Literal":
            return cast("tuple[str, ...]", get_args(part))
    return ()
