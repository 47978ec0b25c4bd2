"""What creates or changes a challenge: a JSON object into the columns that every challenge has."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from ctfd_twisted.errors import Invalid
from ctfd_twisted.http.bodies import read_struct

Name = Annotated[str, Meta(max_length=80)]
Text = str | UnsetType | None
Number = int | UnsetType | None
# What is read by functions of its own, which know better words for what is wrong than ``read_struct`` does.
Instant = Annotated[Any, Meta(description="ISO 8601; UTC by default.", extra_json_schema={"type": ["string", "null"]})]
Requirements = Annotated[Any, Meta(extra_json_schema={"type": ["object", "null"]})]

#: The longest description, in characters.
LONGEST: Final = 65_535
HIGHEST_POSITION: Final = 32_767
_INTEGERS: Final = range(-(2**31), 2**31)

NO_DATETIME: Final = "Not a valid datetime."


class ChallengeFields(msgspec.Struct, frozen=True):
    """The fields that every challenge has; a kind's own settings are read by the kind."""

    id: int | UnsetType = UNSET
    name: Text = UNSET
    category: Text = UNSET
    description: Text = UNSET
    attribution: Text = UNSET
    connection_info: Text = UNSET
    next_id: Number = UNSET
    max_attempts: Number = UNSET
    value: Number = UNSET
    type: Name | UnsetType | None = UNSET
    state: Name | UnsetType = UNSET
    logic: Name | UnsetType = UNSET
    position: int | UnsetType = UNSET
    function: Annotated[str, Meta(max_length=32)] | UnsetType | None = UNSET
    initial: Number = UNSET
    minimum: Number = UNSET
    decay: Number = UNSET
    module_id: Number = UNSET
    scheduled_at: Instant = UNSET
    ends_at: Instant = UNSET
    requirements: Requirements = UNSET


class AskedPreview(msgspec.Struct, frozen=True):
    """How an administrator asks for what another sees or would be told; any value that is not empty asks for it."""

    preview: str = ""


#: Checked here with everything else, but stored by the kind.
_OF_THE_KIND: Final = frozenset({"function", "initial", "minimum", "decay"})


def read_fields(fields: Mapping[str, object]) -> dict[str, Any]:
    """The columns of ``challenges``, and ``ends_at``, that *fields* names, checked; other keys are ignored.

    Raises ``Invalid`` that names every wrong one of them.
    """
    errors: dict[str, list[str] | str] = {}
    given: dict[str, Any] = {}
    try:
        body = read_struct(fields, ChallengeFields)
    except Invalid as wrong:
        errors.update(wrong.errors)
        body = read_struct({key: value for key, value in fields.items() if key not in wrong.errors}, ChallengeFields)
    for name in body.__struct_fields__:
        value = getattr(body, name)
        if value is UNSET:
            continue
        try:
            given[name] = _checked(name, value)
        except ValueError as error:
            errors[name] = [str(error)]
    if errors:
        raise Invalid(errors)
    return {name: value for name, value in given.items() if name not in _OF_THE_KIND}


def _checked(name: str, value: Any) -> Any:
    match name:
        case "name" | "category" if value is not None and len(value) > 80:  # noqa: PLR2004 - the column's length
            raise ValueError(f"Challenge could not be saved. Challenge {name} too long")
        case "description" if value is not None and len(value) > LONGEST:
            raise ValueError("Challenge could not be saved. Challenge description too long")
        case "position" if not 0 <= value <= HIGHEST_POSITION:
            raise ValueError("Challenge could not be saved. Challenge position is invalid")
        case "scheduled_at" | "ends_at":
            return read_instant(value)
        case "requirements":
            return _requirements(value)
        case "id" if value < 1:
            raise ValueError("Not a valid integer.")
        case _ if isinstance(value, int) and value not in _INTEGERS:
            raise ValueError("Not a valid integer.")
    return value


def read_instant(value: object) -> datetime | None:
    """ISO 8601 as an aware instant, UTC where it says nothing else; raises ``ValueError`` with the message."""
    if value is None:
        return None
    try:
        instant = datetime.fromisoformat(value)  # type: ignore[arg-type]
        return instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant.astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(NO_DATETIME) from None


def _requirements(value: object) -> dict[str, Any] | None:
    if value is None:
        return None
    prerequisites = value.get("prerequisites") if isinstance(value, dict) else False
    if not isinstance(value, dict) or not isinstance(prerequisites, list | None):
        raise ValueError("Error parsing challenge requirements")  # noqa: TRY004 - ValueError carries messages here
    if prerequisites is not None and not all(prerequisites):
        raise ValueError("Challenge requirements cannot have a null prerequisite")
    return value
