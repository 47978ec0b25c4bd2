"""The lines of the scoreboard as JSON shows them (api/scoreboard.md). Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Final, Literal, NamedTuple, NotRequired, Protocol, TypedDict

import msgspec

Word = Literal["user", "team"]

_BEGIN: Final = b'{"success":true,"data":['
_END: Final = b"]}"


class MemberShown(TypedDict):
    """One member of a team, with the points of their own."""

    id: int
    oauth_id: int | None
    name: str | None
    score: int
    bracket_id: int | None
    bracket_name: str | None


class LineShown(TypedDict):
    """One account on the board; ``members`` where teams play."""

    pos: int
    account_id: int
    account_url: str
    account_type: Word
    oauth_id: int | None
    name: str
    score: int
    bracket_id: int | None
    bracket_name: str | None
    members: NotRequired[list[MemberShown]]


class Bracketed(Protocol):
    """Somebody who may be in a bracket."""

    @property
    def bracket_id(self) -> int | None:
        """The bracket."""

    @property
    def bracket_name(self) -> str | None:
        """Its name."""


class Listed(Bracketed, Protocol):
    """An account on the board."""

    @property
    def id(self) -> int:
        """The account."""

    @property
    def oauth_id(self) -> int | None:
        """Who it is at MajorLeagueCyber."""

    @property
    def name(self) -> str | None:
        """Its name; old data may have none."""


class Member(msgspec.Struct, frozen=True):
    """A listed member of a team."""

    id: int
    oauth_id: int | None
    name: str | None
    bracket_id: int | None
    bracket_name: str | None


class Line(NamedTuple):
    """The line of an account as JSON, from behind the place on, which others move.

    ``mark`` names it among all lines that have its place: the same on every node.
    """

    rest: bytes
    mark: bytes


class Form:
    """The line of an account but for the points, which are put in anew whenever they move."""

    __slots__ = ("_mark", "_template", "members")

    def __init__(self, account: Listed, members: Sequence[Member] | None, kind: Word, root: str) -> None:
        """*account* as it is on the board; *members* are a team's, and None where no teams play."""
        first = {
            "account_id": account.id,
            "account_url": f"{root}/{kind}s/{account.id}",
            "account_type": kind,
            "oauth_id": account.oauth_id,
            "name": account.name or "",
        }
        parts = [_scored(first, account)]
        if members is not None:
            shown = (
                b"{%b}" % _scored({"id": one.id, "oauth_id": one.oauth_id, "name": one.name}, one) for one in members
            )
            parts.append(b'"members":[%b]' % b",".join(shown))
        self._template = b",".join(parts) + b"}"
        digest = hashlib.blake2b(self._template, digest_size=9).digest()
        self._mark = digest.replace(b"%", b"%%") + b",".join([b"%d"] * (1 + len(members or ()))) + b";"
        #: Whose points follow those of the account itself, in this order.
        self.members = tuple(member.id for member in members or ())

    def line(self, *scores: int) -> Line:
        """The line with these points: the account's, and each member's."""
        return Line(self._template % scores, self._mark % scores)


def _scored(first: Mapping[str, object], whose: Bracketed) -> bytes:
    """Members of a JSON object, as a template: *first*, the points to come, and the bracket."""
    last = {"bracket_id": whose.bracket_id, "bracket_name": whose.bracket_name}
    return template(first) + b',"score":%d,' + template(last)


def template(members: Mapping[str, object]) -> bytes:
    """*members* of a JSON object, without its braces, as a part of what numbers are put into with ``%``."""
    return msgspec.json.encode(members)[1:-1].replace(b"%", b"%%")


class Places:
    """The beginnings of lines, which say the place; as many as were ever needed are kept."""

    def __init__(self) -> None:
        self._first: list[bytes] = []

    def body(self, rests: Sequence[bytes]) -> bytes:
        """The answer with all lines, whose *rests* these are by their places."""
        first = self._first
        while len(first) < len(rests):
            first.append(b'%b{"pos":%d,' % (b"," if first else _BEGIN, len(first) + 1))
        pieces = chain.from_iterable(zip(first, rests, strict=False))
        return b"".join(chain(pieces, (_END if rests else _BEGIN + _END,)))
