"""Whom an agent's text stands for: hill tokens, names, e-mail addresses and ids. Pure."""

from __future__ import annotations

import base64
import hmac
import re
from collections.abc import Iterable, Mapping
from typing import Final, Literal

import msgspec

Kind = Literal["user", "team"]
Way = Literal["token", "name", "email", "id"]

#: The ways in the order in which they are tried, whatever the order of the setting.
WAYS: Final[tuple[Way, ...]] = ("token", "name", "email", "id")
DEFAULT_WAYS: Final[frozenset[Way]] = frozenset({"token", "name", "id"})

_TOKEN: Final = re.compile(r"hill-([ut])([1-9][0-9]{0,9})-([a-z2-7]{32})")
_KINDS: Final[Mapping[str, Kind]] = {"u": "user", "t": "team"}
_TOKEN_BYTES: Final = 20
_ID: Final = re.compile(r"[1-9][0-9]{0,9}")
#: Stands in an index for a text that several accounts share.
_SEVERAL: Final = 0


class Match(msgspec.Struct, frozen=True):
    """What a text stands for: a user or a team, and in which way it was recognised."""

    kind: Kind
    id: int
    way: Way


class Person(msgspec.Struct, frozen=True):
    """A user or a team, as far as a text may name it."""

    id: int
    name: str
    email: str | None = None


def hill_token(secret: str, kind: Kind, account_id: int) -> str:
    """The text by which an account claims hills: it carries whose it is, and 160 bits that only *secret* gives."""
    digest = hmac.digest(secret.encode(), f"{kind}:{account_id}".encode(), "sha256")
    proof = base64.b32encode(digest[:_TOKEN_BYTES]).decode().lower()
    return f"hill-{kind[0]}{account_id}-{proof}"


def token_owner(secret: str, text: str) -> tuple[Kind, int] | None:
    """Whose hill token *text* is, if it is one that *secret* gave."""
    found = _TOKEN.fullmatch(text)
    if found is None:
        return None
    kind, account_id = _KINDS[found[1]], int(found[2])
    return (kind, account_id) if hmac.compare_digest(hill_token(secret, kind, account_id), text) else None


def allowed_ways(setting: str) -> frozenset[Way]:
    """The ways that the setting ``koth_identifiers`` allows: a comma list of token, name, email and id.

    Unknown words count for nothing; where no known one is left, the default holds.
    """
    words = {word.strip().lower() for word in setting.split(",")}
    return frozenset(way for way in WAYS if way in words) or DEFAULT_WAYS


class _Index:
    """From a text to the one account that has it."""

    def __init__(self, people: Iterable[Person]) -> None:
        self._exact: dict[str, int] = {}
        self._folded: dict[str, int] = {}
        for person in people:
            _enter(self._exact, person.name.strip(), person.id)
            _enter(self._folded, person.name.strip().casefold(), person.id)

    def exact(self, text: str) -> int:
        return self._exact.get(text, _SEVERAL)

    def folded(self, text: str) -> int:
        return self._folded.get(text.casefold(), _SEVERAL)


def _enter(index: dict[str, int], text: str, account_id: int) -> None:
    if text:
        index[text] = _SEVERAL if index.get(text, account_id) != account_id else account_id


class Directory:
    """Everybody who can be king, prepared for many look-ups; never changes.

    :param teams: the teams where teams play, and None where single users do.
    :param ways: which of the ways to name an account count.
    :param secret: what hill tokens are made with.
    """

    def __init__(
        self, users: Iterable[Person], teams: Iterable[Person] | None, ways: frozenset[Way], secret: str
    ) -> None:
        people = tuple(users)
        groups = None if teams is None else tuple(teams)
        self._ways = ways
        self._secret = secret
        self._users = _Index(people)
        self._teams = None if groups is None else _Index(groups)
        self._emails: dict[str, int] = {}
        for person in people:
            if person.email:
                _enter(self._emails, person.email.strip().casefold(), person.id)
        self._ids: dict[Kind, frozenset[int]] = {
            "user": frozenset(person.id for person in people),
            "team": frozenset(group.id for group in groups or ()),
        }

    @property
    def teams_mode(self) -> bool:
        """Whether teams score."""
        return self._teams is not None

    def find(self, text: str) -> Match | None:
        """Whom *text*, without blanks around it, stands for; None where nobody, or not surely one."""
        if not text:
            return None
        for way in WAYS:
            found = self._find(way, text) if way in self._ways else None
            if found is not None:
                return Match(found[0], found[1], way)
        return None

    def _find(self, way: Way, text: str) -> tuple[Kind, int] | None:
        if way == "token":
            owner = token_owner(self._secret, text)
            return owner if owner is not None and owner[1] in self._ids[owner[0]] else None
        if way == "name":
            return self._named(text)
        if way == "email":
            user_id = self._emails.get(text.casefold(), _SEVERAL)
            return ("user", user_id) if user_id else None
        kind: Kind = "user" if self._teams is None else "team"
        account_id = int(text) if _ID.fullmatch(text) else 0
        return (kind, account_id) if account_id in self._ids[kind] else None

    def _named(self, text: str) -> tuple[Kind, int] | None:
        # Who writes a name exactly means that account, even where another differs in case only. A team's own name comes
        # before that of some team's member, so that nobody gets a team's points by calling himself like the team.
        for look in (_Index.exact, _Index.folded):
            if self._teams is not None and (team_id := look(self._teams, text)):
                return "team", team_id
            if user_id := look(self._users, text):
                return "user", user_id
        return None
