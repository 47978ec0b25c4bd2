"""Signing in with MajorLeagueCyber: whom to ask, what is read of the answers, and what refusals say; pure.

Two messages pass through the browser: ``state``, which the provider gives back and which binds the way back to the
session that set out, and the reason of a refusal, which is a word in the address of the login page (a session of ours
can't hold a message).
"""

from __future__ import annotations

import base64
import binascii
import hmac
from collections.abc import Callable
from ipaddress import ip_address
from typing import Any, Final, Literal
from urllib.parse import urlencode, urlsplit

import msgspec

from ctfd_twisted.accounts.rules import TEXT_LENGTH, looks_like_email
from ctfd_twisted.competition.rules import Competition
from ctfd_twisted.settings import OAuthServer
from ctfd_twisted.settings.addresses import http_url

AUTHORIZE: Final = "https://auth.majorleaguecyber.org/oauth/authorize"
TOKEN: Final = "https://auth.majorleaguecyber.org/oauth/token"  # noqa: S105 - an address
API: Final = "https://api.majorleaguecyber.org/user"

#: Why somebody was not signed in.
Reason = Literal[
    "settings", "state", "code", "token", "away", "profile", "unverified", "closed", "domain", "full", "taken", "admin"
]
_AWAY: Final = "MajorLeagueCyber does not answer at the moment. Please try again later."
_TOKEN_FAILED: Final = "OAuth token retrieval failure."  # noqa: S105 - a message
_SENTENCES: Final[dict[str, tuple[str, ...]]] = {
    "settings": (
        "OAuth Settings not configured. Ask your CTF administrator to configure MajorLeagueCyber integration.",
    ),
    "state": ("OAuth State validation mismatch.",),
    "code": ("Received redirect without OAuth code.",),
    "token": (_TOKEN_FAILED,),
    "away": (_TOKEN_FAILED, _AWAY),
    "profile": ("OAuth user retrieval failure.", _AWAY),
    "unverified": ("Please confirm your email address at MajorLeagueCyber first.",),
    "closed": ("Public registration is disabled. Please try again later.",),
    "domain": ("Your email address is not from an allowed domain",),
    "taken": ("The account with your email address belongs to another account of MajorLeagueCyber.",),
    "admin": ("Administrators log in with their password.",),
}
_IDS: Final = range(1, 2**31)
#: The longest page that is remembered while somebody is away, in characters.
_LONGEST: Final = 1024


class Turned(Exception):
    """Somebody is turned away at the login page, for *reason*."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason: Reason = reason


class Provider(msgspec.Struct, frozen=True):
    """Who is asked, and as whom."""

    client_id: str
    client_secret: str
    authorization_endpoint: str
    token_endpoint: str
    api_endpoint: str

    def __repr__(self) -> str:
        return f"Provider(client_id={self.client_id!r}, token_endpoint={self.token_endpoint!r})"


class Team(msgspec.Struct, frozen=True):
    """A team as the provider knows it."""

    id: int
    name: str


class Profile(msgspec.Struct, frozen=True):
    """A person as the provider knows them; ``email`` is trimmed, and empty where none was told.

    ``verified`` is false only where the provider says so: what it says nothing about, it stands for.
    """

    id: int
    name: str
    email: str
    verified: bool = True
    team: Team | None = None


def provider_of(competition: Competition, server: OAuthServer) -> Provider | None:
    """Return who is asked; ``None`` where id or secret is missing, or an address can't be used.

    What the deployment says wins. Its secret goes to addresses of its own alone, or an administrator could have it sent
    to a host of theirs; and what an administrator names must be reached so that nobody reads along.
    """

    def endpoint(own: str | None, key: str, usual: str) -> str | None:
        if own is not None:
            return own
        named = "" if server.client_secret is not None else competition.text(key)
        return usual if not named else named if _is_private(named) else None

    found = (
        server.client_id or competition.text("oauth_client_id"),
        server.client_secret or competition.text("oauth_client_secret"),
        endpoint(server.authorization_endpoint, "oauth_authorization_endpoint", AUTHORIZE),
        endpoint(server.token_endpoint, "oauth_token_endpoint", TOKEN),
        endpoint(server.api_endpoint, "oauth_api_endpoint", API),
    )
    return Provider(*(part for part in found if part)) if all(found) else None


def _is_private(address: str) -> bool:
    """Return whether *address* is one of the web that is encrypted, or on this machine."""
    try:
        parts = urlsplit(http_url(address))
        return parts.scheme == "https" or parts.hostname == "localhost" or ip_address(parts.hostname or "").is_loopback
    except ValueError:
        return False


def way_there(provider: Provider, state: str, *, teams: bool) -> str:
    """Return where the browser is sent to ask for consent."""
    asked = {
        "response_type": "code",
        "client_id": provider.client_id,
        "scope": "profile team" if teams else "profile",
        "state": state,
    }
    joint = "&" if "?" in provider.authorization_endpoint else "?"
    return f"{provider.authorization_endpoint}{joint}{urlencode(asked)}"


def make_state(nonce: str, onto: str | None) -> str:
    """Return the session's *nonce*, and the page *onto* which they are led afterwards, if that is not too long."""
    if not onto or len(onto) > _LONGEST:
        return nonce
    return f"{nonce}.{base64.urlsafe_b64encode(onto.encode()).decode('ascii').rstrip('=')}"


def read_state(state: str, nonce: str) -> str | None:
    """Return the page that *state* names, ``None`` where it names none; raises ``Turned`` unless it is of *nonce*."""
    shown, _, onto = state.partition(".")
    if not hmac.compare_digest(shown.encode("utf-8", "surrogatepass"), nonce.encode()):
        raise Turned("state")
    try:
        return base64.urlsafe_b64decode(onto + "=" * (-len(onto) % 4)).decode() or None
    except (binascii.Error, ValueError):
        return None


def sentences(reason: str | None, competition: Competition) -> list[str]:
    """Return what the login page says about *reason*; nothing about a word that is none."""
    if reason == "full":
        size = competition.integer("team_size", 0)
        return [f"Teams are limited to {size} member{'' if size == 1 else 's'}."]
    return list(_SENTENCES.get(reason or "", ()))


def read_token(raw: bytes) -> str:
    """Return the access token in the token endpoint's answer; raises ``ValueError``."""
    token = _object(raw).get("access_token")
    if not isinstance(token, str) or not token.isascii() or not token.isprintable() or not token.strip():
        raise ValueError("no access token in the answer")
    return token


def read_profile(raw: bytes) -> Profile:
    """Return whom the user endpoint's answer is about; raises ``ValueError``."""
    told = _object(raw)
    team = told.get("team")
    confirmed = [told[key] for key in ("verified", "email_verified") if key in told]
    return Profile(
        id=_id(told.get("id")),
        name=_text(told.get("name")),
        email=_email(told.get("email")),
        verified=all(value is True for value in confirmed),
        # Somebody without a team is told as null, as nothing, or as a team of nulls.
        team=Team(_id(team["id"]), _text(team.get("name"))) if isinstance(team, dict) and team.get("id") else None,
    )


def name_for(wanted: str, fallback: str, taken: Callable[[str], bool]) -> str:
    """Return a name like *wanted* that is not *taken*: names are unique here, and those of other places are not.

    A name that looks like an e-mail address would be taken for one at the login, so it loses what follows the ``@``.
    """
    name = (wanted.partition("@")[0] if looks_like_email(wanted) else wanted)[:TEXT_LENGTH].strip() or fallback
    found, number = name, 1
    while taken(found):
        number += 1
        end = f" ({number})"
        found = name[: TEXT_LENGTH - len(end)] + end
    return found


def _object(raw: bytes) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise ValueError("the answer is no JSON") from None
    if not isinstance(found, dict):
        raise ValueError("the answer is no JSON object")  # noqa: TRY004 - as with all that is wrong with it
    return found


def _id(value: object) -> int:
    number = int(value) if isinstance(value, str) and value.isascii() and value.isdigit() else value
    if isinstance(number, bool) or not isinstance(number, int) or number not in _IDS:
        raise ValueError("an id in the answer is no number that can be stored")
    return number


def _text(value: object) -> str:
    """Return a name without what can't be seen."""
    return "".join(filter(str.isprintable, value)).strip() if isinstance(value, str) else ""


def _email(value: object) -> str:
    """Return an address as it is, or nothing: one that was mended would be somebody else's."""
    text = value.strip() if isinstance(value, str) else ""
    return text if text.isprintable() else ""
