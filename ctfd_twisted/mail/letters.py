"""What is written to people: the competition's own texts, else ours, with placeholders filled in; pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.mail.rules import Letter

Kind = Literal["verification", "successful_registration", "user_creation", "password_reset", "password_change_alert"]


class _Text(msgspec.Struct, frozen=True):
    """One kind of letter: the config keys of its text, and ours."""

    keys: str
    subject: str
    body: str


_TEXTS: Final[Mapping[Kind, _Text]] = {
    "verification": _Text(
        "verification_email",
        "Confirm your account for {ctf_name}",
        "Welcome to {ctf_name}!\n\n"
        "Please follow this link to confirm your email address:\n{url}\n\n"
        "It works once, within 30 minutes. If it has expired, you can have a new one sent after logging in.\n",
    ),
    "successful_registration": _Text(
        "successful_registration_email",
        "Successfully registered for {ctf_name}",
        "You have registered for {ctf_name}.\n\nHere you will find the competition:\n{url}\n",
    ),
    "user_creation": _Text(
        "user_creation_email",
        "Message from {ctf_name}",
        "An account for {ctf_name} was made for you.\n\n"
        "Username: {name}\nPassword: {password}\n\nLog in here, and choose a password of your own:\n{url}\n",
    ),
    "password_reset": _Text(
        "password_reset",
        "Password reset request from {ctf_name}",
        "Somebody, hopefully you, asked to choose a new password for your account at {ctf_name}.\n\n"
        "Please follow this link to do so:\n{url}\n\n"
        "It works once, within 30 minutes. If it was not you, just ignore this message.\n",
    ),
    "password_change_alert": _Text(
        "password_change_alert",
        "Password changed for {ctf_name}",
        "The password of your account at {ctf_name} was changed.\n\n"
        "If it was not you, choose a new one at once:\n{url}\n",
    ),
}

_PLACEHOLDER: Final = re.compile(r"\{\{\s*(\w+)\s*\}\}|\{(\w+)\}", re.ASCII)


def write_letter(
    competition: Competition, kind: Kind, recipient: str, url: str, extra: Mapping[str, str] | None = None
) -> Letter:
    """Return a letter of *kind*; *url* and *extra* (``name``, ``password``) may stand in its body."""
    text = _TEXTS[kind]
    names = {"ctf_name": competition.name}
    values = {**names, "ctf_description": competition.text("ctf_description"), "url": url, **(extra or {})}
    return Letter(
        recipient,
        fill_in(competition.text(f"{text.keys}_subject") or text.subject, names),
        fill_in(competition.text(f"{text.keys}_body") or text.body, values),
    )


def fill_in(text: str, values: Mapping[str, str]) -> str:
    """Return *text* with ``{key}`` and ``{{ key }}`` replaced by *values*; other placeholders stay as they are."""
    return _PLACEHOLDER.sub(lambda found: values.get(found[1] or found[2], found[0]), text)
