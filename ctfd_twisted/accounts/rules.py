"""What accounts may be called and say of themselves; pure, with the messages that clients know."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

from ctfd_twisted.accounts.countries import COUNTRIES, LANGUAGES

#: No address longer than this is looked at (security.md section 5); what is stored is shorter still.
EMAIL_LOOKED_AT: Final = 320
#: The width of the text columns of users and teams.
TEXT_LENGTH: Final = 128
PASSWORD_LENGTH: Final = 128

BAD_WEBSITE: Final = "Websites must be a proper URL starting with http or https"
BAD_EMAIL: Final = "Emails must be a properly formatted email address"
EMPTY_EMAIL: Final = "Emails must not be empty"
TAKEN_EMAIL: Final = "Email address has already been used"
NAME_CHANGES_OFF: Final = "Name changes are disabled"
CONFIRM: Final = "Please confirm your current password"
NOT_CONFIRMED: Final = "Your previous password is incorrect"
BAD_BRACKET: Final = "Please provide a valid bracket id"
BRACKET_SET: Final = "Please contact an admin to change your bracket"

_EMAIL: Final = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
_LABEL: Final = re.compile(r"[^\W_](?:[\w-]{0,61}[^\W_])?")


def looks_like_email(text: str) -> bool:
    """Return whether *text* has the form of an e-mail address and is at most 320 characters long."""
    return len(text) <= EMAIL_LOOKED_AT and _EMAIL.fullmatch(text) is not None


def domain_listed(email: str, listing: str) -> bool:
    """Return whether the domain of *email* is in a comma-separated *listing*.

    ``*.example.com`` stands for every subdomain but not for ``example.com``. Capitals are no way around it.
    """
    domain = email.rpartition("@")[2].lower()
    for entry in (part.strip().lower() for part in listing.split(",")):
        if entry.startswith("*.") and domain.endswith(entry[1:]) and len(domain) > len(entry) - 1:
            return True
        if entry and entry == domain:
            return True
    return False


def domain_refusals(email: str, allowed: str, denied: str) -> int:
    """Return how many of the two listings are against *email*; an empty listing is against nothing."""
    return int(bool(allowed) and not domain_listed(email, allowed)) + int(bool(denied) and domain_listed(email, denied))


def is_website(text: str) -> bool:
    """Return whether *text* is an ``http`` or ``https`` address with a host: a dotted name, an IP, localhost."""
    if any(character.isspace() or not character.isprintable() or character in '"<>\\' for character in text):
        return False
    try:
        parts = urlsplit(text)
        host = parts.hostname or ""
        _ = parts.port  # raises for what is no port
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and _is_host(host)


def _is_host(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        ipaddress.ip_address(host)
    except ValueError:
        labels = host.removesuffix(".").split(".")
        return len(labels) > 1 and all(map(_LABEL.fullmatch, labels)) and not labels[-1].isdigit()
    return True


def website_faults(website: str | None) -> list[str]:
    """Return what is wrong with a website; nothing may be given."""
    if website and len(website) > TEXT_LENGTH:
        return [f"Longer than maximum length {TEXT_LENGTH}."]
    return [BAD_WEBSITE] if website and not is_website(website) else []


def country_faults(country: str | None) -> list[str]:
    """Return what is wrong with a country code; nothing may be given."""
    return ["Invalid Country"] if country and country not in COUNTRIES else []


def language_faults(language: str | None) -> list[str]:
    """Return what is wrong with a language code; nothing may be given."""
    return ["Invalid Language"] if language and language not in LANGUAGES else []


def email_faults(email: str) -> list[str]:
    """Return what is wrong with the form of an e-mail address that is to be stored."""
    faults = [] if looks_like_email(email) else [BAD_EMAIL]
    if not 1 <= len(email) <= TEXT_LENGTH:
        faults.append(EMPTY_EMAIL)
    return faults


def name_faults(name: str, kind: str) -> list[str]:
    """Return what is wrong with the length of a name; *kind* is ``User`` or ``Team``."""
    return [] if 1 <= len(name) <= TEXT_LENGTH else [f"{kind} names must not be empty"]


def short_password(password: str, minimum: int) -> str | None:
    """Return the message for a password of fewer than *minimum* characters."""
    return f"Password must be at least {minimum} characters" if len(password) < minimum else None


def gathered(*faults: tuple[str, Iterable[str]]) -> dict[str, list[str] | str]:
    """Return the messages by field, without the fields that have none."""
    return {field: messages for field, several in faults if (messages := list(several))}
