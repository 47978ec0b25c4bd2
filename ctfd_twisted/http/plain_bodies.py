"""Bodies whose wrong fields CTFd names by one string each: it reads them by another way than all others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar

import msgspec

from ctfd_twisted.errors import Invalid
from ctfd_twisted.http.bodies import NOT_NULL, REQUIRED, read_struct

S = TypeVar("S", bound=msgspec.Struct)

#: CTFd's words here for what ``bodies`` says in those that it has elsewhere.
_WORDS: Final[Mapping[str, str]] = {
    REQUIRED: "field required",
    NOT_NULL: "none is not an allowed value",
    "Not a valid integer.": "value is not a valid integer",
    "Not a valid boolean.": "value could not be parsed to a boolean",
    "Not a valid string.": "str type expected",
}


def read_plain(raw: Mapping[str, object], kind: type[S]) -> S:
    """*raw* as a *kind*, as ``read_struct`` reads it; raises ``Invalid`` with one string for each wrong field."""
    try:
        return read_struct(raw, kind)
    except Invalid as wrong:
        raise Invalid({name: _WORDS.get(text := _first(found), text) for name, found in wrong.errors.items()}) from None


def _first(found: list[str] | str) -> str:
    return found if isinstance(found, str) else found[0]
