"""Bodies whose wrong fields are named by one string each."""

from typing import Annotated, Any

import msgspec
import pytest
from msgspec import UNSET, Meta, UnsetType

from ctfd_twisted.errors import Invalid
from ctfd_twisted.http.plain_bodies import read_plain


class Body(msgspec.Struct, frozen=True):
    name: Annotated[str, Meta(max_length=3)]
    size: int | UnsetType = UNSET
    big: bool | None = None


def test_what_is_right_is_read_as_leniently_as_elsewhere() -> None:
    assert read_plain({"name": "x", "size": "5", "big": "true", "other": 1}, Body) == Body("x", 5, big=True)


@pytest.mark.parametrize(
    ("raw", "errors"),
    [
        ({}, {"name": "field required"}),
        ({"name": None}, {"name": "none is not an allowed value"}),
        ({"name": 5, "size": "x"}, {"name": "str type expected", "size": "value is not a valid integer"}),
        ({"name": "x", "big": 7}, {"big": "value could not be parsed to a boolean"}),
        ({"name": "long"}, {"name": "Longer than maximum length 3."}),
    ],
)
def test_what_is_wrong_is_named_by_one_string(raw: dict[str, Any], errors: dict[str, str]) -> None:
    with pytest.raises(Invalid) as refused:
        read_plain(raw, Body)
    assert refused.value.errors == errors
