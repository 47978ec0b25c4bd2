"""What clients send to create and change users and teams."""

from __future__ import annotations

from typing import Annotated, Any, Final, Generic, TypeVar

import msgspec
from msgspec import UNSET, Meta, UnsetType

from ctfd_twisted.accounts import rules
from ctfd_twisted.errors import Invalid

S = TypeVar("S", bound=msgspec.Struct)

Text = Annotated[str, Meta(max_length=rules.TEXT_LENGTH)]
Code = Annotated[str, Meta(max_length=32)]
# Of these the form is judged later, with words of its own; the schema tells of it all the same.
Name = Annotated[str, Meta(extra_json_schema={"minLength": 1, "maxLength": rules.TEXT_LENGTH})]
Email = Annotated[str, Meta(extra_json_schema={"format": "email", "maxLength": rules.TEXT_LENGTH})]
Website = Annotated[str, Meta(extra_json_schema={"maxLength": rules.TEXT_LENGTH, "examples": ["https://example.org/"]})]
Role = Annotated[str, Meta(extra_json_schema={"enum": ["user", "admin"]})]
_ANSWER: Final = {
    "type": "object",
    "properties": {"field_id": {"type": ["integer", "string"], "pattern": "^[0-9]+$"}, "value": {}},
    "required": ["field_id"],
}
Answers = Annotated[list[Any], Meta(extra_json_schema={"items": _ANSWER})]

# Ids are 32-bit integers.
_LARGEST = 2**31
_DIGITS = 10


class FieldValue(msgspec.Struct, frozen=True):
    """The answer to one custom field."""

    field_id: int
    value: Any = None


class AccountBody(msgspec.Struct, frozen=True, kw_only=True):
    """What users and teams have in common. What was not sent is ``UNSET``."""

    name: Name | UnsetType = UNSET
    password: str | UnsetType = UNSET
    website: Website | UnsetType | None = UNSET
    affiliation: Text | UnsetType | None = UNSET
    country: Code | UnsetType | None = UNSET
    bracket_id: int | UnsetType | None = UNSET
    fields: Answers | UnsetType | None = UNSET


class PersonBody(AccountBody, frozen=True, kw_only=True):
    """The keys of a user that they and administrators may write."""

    email: Email | UnsetType = UNSET
    language: Code | UnsetType | None = UNSET


class OwnUserBody(PersonBody, frozen=True, kw_only=True):
    """What a user sends about themselves; ``confirm`` is their present password."""

    confirm: str | UnsetType | None = UNSET


class UserBody(PersonBody, frozen=True, kw_only=True):
    """What an administrator sends about a user."""

    hidden: bool | UnsetType | None = UNSET
    banned: bool | UnsetType | None = UNSET
    secret: Text | UnsetType | None = UNSET
    type: Role | UnsetType | None = UNSET
    verified: bool | UnsetType | None = UNSET
    change_password: bool | UnsetType | None = UNSET


class NewUserBody(msgspec.Struct, frozen=True, kw_only=True):
    """What may not lack of a new user; it stands beside the keys of ``UserBody``, by which it is read."""

    name: Name
    password: str


class GroupBody(AccountBody, frozen=True, kw_only=True):
    """The keys of a team that its captain and administrators may write."""

    email: Email | UnsetType | None = UNSET
    captain_id: int | UnsetType | None = UNSET


class OwnTeamBody(GroupBody, frozen=True, kw_only=True):
    """What a captain sends about the team; ``confirm`` is the team's present password, or the captain's own."""

    confirm: str | UnsetType | None = UNSET


class TeamBody(GroupBody, frozen=True, kw_only=True):
    """What an administrator sends about a team."""

    hidden: bool | UnsetType | None = UNSET
    banned: bool | UnsetType | None = UNSET
    secret: Text | UnsetType | None = UNSET


class NewTeamBody(msgspec.Struct, frozen=True, kw_only=True):
    """What may not lack of a new team; it stands beside the keys of ``TeamBody``, by which it is read."""

    name: Name
    password: str


class Sent(msgspec.Struct, Generic[S], frozen=True):
    """A body, and the generic faults of the keys that could not be read (which are ``UNSET`` in the body).

    Both are needed: bracket, e-mail, fields, name and confirmation are judged first and the first of them that fails is
    reported alone; only where all pass are the faults of form reported, together (api/users.md).
    """

    body: S
    faults: dict[str, list[str] | str] = {}


class NewPassword(msgspec.Struct, frozen=True):
    """What was done with a body's passwords before the transaction, because it takes long.

    ``hashed`` is the hash of the new password and ``mac`` the keyed hash of that, for the session that may stay.
    ``fits`` is the stored hash that ``confirm`` was found to belong to: if another is stored by now, the confirmation
    does not count.
    """

    hashed: str | None = None
    mac: str | None = None
    fits: str | None = None


def check_form(sent: Sent[Any], faults: dict[str, list[str] | str], required: tuple[str, ...] = ()) -> None:
    """Raise ``Invalid`` with every fault of form: of reading, *faults*, and the *required* keys that were not sent."""
    missing = {key: ["Missing data for required field."] for key in required if getattr(sent.body, key) is UNSET}
    every = {**faults, **missing, **sent.faults}
    if every:
        raise Invalid(every)


def field_values(body: AccountBody) -> tuple[FieldValue, ...]:
    """Return the answers to custom fields in *body*; raises ``Invalid`` for an element that is none."""
    values = []
    for element in body.fields or ():
        field_id = element.get("field_id") if isinstance(element, dict) else None
        if isinstance(field_id, str) and field_id.isascii() and field_id.isdigit() and len(field_id) <= _DIGITS:
            field_id = int(field_id)
        if not isinstance(field_id, int) or isinstance(field_id, bool) or abs(field_id) >= _LARGEST:
            raise Invalid(fields=["Each field must be an object with a field_id and a value"])
        values.append(FieldValue(field_id, element.get("value")))
    return tuple(values)


def user_faults(body: PersonBody) -> dict[str, list[str] | str]:
    """Return the faults of form of a user's values, by field."""
    return rules.gathered(
        ("name", rules.name_faults(body.name, "User") if body.name is not UNSET else ()),
        ("email", rules.email_faults(body.email) if body.email is not UNSET else ()),
        ("language", rules.language_faults(_given(body.language))),
        ("type", _type_faults(body)),
        *_common_faults(body),
    )


def team_faults(body: GroupBody) -> dict[str, list[str] | str]:
    """Return the faults of form of a team's values, by field."""
    return rules.gathered(
        ("name", rules.name_faults(body.name, "Team") if body.name is not UNSET else ()),
        ("email", rules.email_faults(body.email) if isinstance(body.email, str) and body.email else ()),
        *_common_faults(body),
    )


def _common_faults(body: AccountBody) -> list[tuple[str, list[str]]]:
    return [
        ("website", rules.website_faults(_given(body.website))),
        ("country", rules.country_faults(_given(body.country))),
    ]


def _type_faults(body: PersonBody) -> list[str]:
    known = not isinstance(body, UserBody) or body.type in {UNSET, None, "user", "admin"}
    return [] if known else ["Invalid user type"]


def _given(value: str | UnsetType | None) -> str | None:
    return None if value is UNSET else value
